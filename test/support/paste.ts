import { spawn } from 'node:child_process';
import { repositoryRoot } from './repository-root.js';

/** Runs commands as a person pastes them into a shell, by default in the root of the clone. A command that fails ends them and rejects. */
export async function paste(
  commands: string,
  environment: Readonly<Record<string, string | undefined>>,
  folder = repositoryRoot,
): Promise<string> {
  const child = spawn('bash', ['-c', `set -eo pipefail\n${commands}`], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { HOME: process.env['HOME'], PATH: process.env['PATH'], BUILT: '1', ...environment },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  if (code !== 0) throw new Error(`exit code ${code} of\n${commands}\n${output}`);
  return output;
}
