import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Connection } from '../../standalone/connection.js';
import { repositoryRoot } from '../support/repository-root.js';
import { createOrganisation } from './support/shared-standalone.js';

let connection: Required<Connection>;
const folder = mkdtempSync(join(tmpdir(), 'example-client-'));
beforeAll(async () => {
  connection = await createOrganisation('example');
});
afterAll(() => rmSync(folder, { recursive: true }));

test('the example client has one operation sponsored and pays for one in tokens, from nothing', async () => {
  // As docs/first-steps-kubernetes.md writes it for an installation.
  const { rpcUrl, chainRpcUrl, entryPoint, entryPointVersion, sponsoredContract, feeToken } = connection;
  const facts = { rpcUrl, chainRpcUrl, entryPoint, entryPointVersion, sponsoredContract, feeToken };
  const file = join(folder, 'installation.json');
  writeFileSync(file, JSON.stringify(facts));
  const { code, output } = await run(file);
  expect({ code, output }).toMatchObject({ code: 0 });
  expect(output).toMatch(/^sponsored success true, the paymaster paid 0\.\d+ ether$/m);
  const quoted = /^quoted +at most ([\d.]+) DUSD/m.exec(output)?.[1];
  const paid = /^paid +success true, the wallet paid ([\d.]+) DUSD$/m.exec(output)?.[1];
  expect(Number(paid)).toBeGreaterThan(0);
  expect(Number(paid)).toBeLessThanOrEqual(Number(quoted));
});

test('without a running server it says so in one sentence', async () => {
  const { code, output } = await run(join(folder, 'elsewhere.json'));
  expect({ code, output }).toEqual({ code: 1, output: expect.stringMatching(/^error: .*make run.*\n$/) });

  const stopped = join(folder, 'stopped.json');
  writeFileSync(stopped, JSON.stringify({ ...connection, rpcUrl: 'http://127.0.0.1:1/api/v1/1/key' }));
  expect(await run(stopped)).toEqual({
    code: 1,
    output: 'error: nothing answers at http://127.0.0.1:1: start "make run" in another terminal\n',
  });
});

function run(connectionFile: string): Promise<{ readonly code: number | null; readonly output: string }> {
  const child = spawn(process.execPath, [join(repositoryRoot, 'examples/client/main.mjs'), connectionFile], {
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 240_000,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, output }));
  });
}
