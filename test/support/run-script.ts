import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

/** Runs a compiled script with these variables alone, and answers what it has printed and its exit code. */
export async function runScript(
  path: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<{ readonly out: string; readonly error: string; readonly status: number }> {
  const child = spawn(process.execPath, ['--no-warnings', path, ...args], {
    env: { PATH: process.env['PATH'], ...environment },
  });
  const [out, error, [status]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit') as Promise<[number]>,
  ]);
  return { out, error, status };
}
