import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { paymaster } from '@pimlico/mock-paymaster';
import { createServer } from 'prool';
import { createServer as createListener } from 'node:net';
import { startBundledService } from './processes.mjs';
import { increment, newAccount, newPaymaster, openChain } from './wallets.mjs';

// `clients/conformance` on two services: ours, on every EntryPoint, and the mock that Pimlico publishes for tests.

const program = fileURLToPath(new URL('../../clients/conformance/main.mjs', import.meta.url));
let running;
let facts;
let client;
before(async () => {
  running = await startBundledService();
  facts = running.facts;
  client = openChain(facts);
});
after(() => running?.stop());

async function check(url, version, ...more) {
  const profile = facts.versions.find((candidate) => candidate.version === version);
  const account = await newAccount(client, profile);
  const callData = await account.encodeCalls([increment(facts)]);
  const values = [
    '--chain-id',
    facts.chainId,
    '--entry-point',
    profile.entryPoint,
    '--call-data',
    callData,
    ...more,
  ];
  return new Promise((resolve) => {
    execFile(process.execPath, [program, url, ...values.map(String)], (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, stdout, stderr }),
    );
  });
}

describe('our service', () => {
  for (const version of ['1.1.0', '2.0.0', 'singleton-0.8', 'hybrid-0.9'])
    test(`version ${version} does all that is asked`, async () => {
      const { code, stdout, stderr } = await check(await newPaymaster(facts, version), version);
      assert.deepEqual([code, stderr], [0, ''], stdout);
    });
});

describe("Pimlico's mock-paymaster", () => {
  let server;
  let url;
  const { error } = console;
  before(async () => {
    // It prints every error that it answers.
    console.error = () => {};
    const port = await freePort();
    server = createServer({
      instance: paymaster({ anvilRpc: facts.chainRpcUrl, altoRpc: running.bundlerUrl }),
      port,
    });
    await server.start();
    url = `http://localhost:${port}/1`;
  });
  after(async () => {
    console.error = error;
    await server?.stop();
  });

  // What clients/conformance/README.md says of it.
  test('does not do all that is asked', async () => {
    const { code, stdout } = await check(url, '2.0.0', '--json');
    assert.equal(code, 1);
    const failed = JSON.parse(stdout).filter(({ results }) => results[0].result === 'failed');
    assert.deepEqual(
      failed.map((row) => row.check),
      [
        'the stub is answered for an operation without gas limits',
        'the stub has no more zero bytes than the data',
        'another chain is an error',
        'a body that is not JSON is error -32700',
        'the id of the request is in the answer, with its type',
      ],
    );
  });
});

function freePort() {
  return new Promise((resolve) => {
    const listener = createListener().listen(0, '127.0.0.1', () => {
      const { port } = listener.address();
      listener.close(() => resolve(port));
    });
  });
}
