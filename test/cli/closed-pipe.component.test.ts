import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { programFile } from '../support/program.js';
import { repositoryRoot } from '../support/repository-root.js';

/** What the program ends with when nobody reads what it prints, as after `| head`. */
function run(...args: readonly string[]) {
  const child = spawn(process.execPath, ['--no-warnings', programFile('paymaster'), ...args]);
  child.stdout.destroy();
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  return new Promise<{ readonly code: number | null; readonly stderr: string }>((resolve) =>
    child.once('close', (code) => resolve({ code, stderr })),
  );
}

test.each([
  [['--help'], 0],
  [['validate', '-o', 'json', join(repositoryRoot, 'examples/chains')], 0],
  [['validate', '-o', 'json', join(repositoryRoot, 'package.json')], 1],
  [['limit', 'lost'], 2],
] as const)('%j into a closed pipe ends with the status of its work, %d', async (args, status) => {
  const { code, stderr } = await run(...args);
  expect({ code, stderr }).toEqual({ code: status, stderr: expect.not.stringMatching(/EPIPE|at .+:\d+/) });
});
