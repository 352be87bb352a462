import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { renderUserOperation } from '../../core/userop/render.js';
import type { Estimate, EstimateRequest } from '../../core/userop/estimator.js';
import { spawnAlto } from '../../standalone/bundler/bundler.js';

/** alto over a chain, asked for the limits of the same operations. */
export type AltoEstimates = {
  estimate(request: EstimateRequest): Promise<Estimate>;
  stop(): Promise<void>;
};

export async function startAltoEstimates(script: string, chainRpcUrl: string): Promise<AltoEstimates> {
  const directory = mkdtempSync(join(tmpdir(), 'paymaster-bench-alto-'));
  const port = await freePort();
  const child = spawnAlto(script, { chainRpcUrl, port, directory });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => (output = `${output}${chunk.toString()}`.slice(-4_000)));
  process.once('exit', () => child.kill('SIGKILL'));
  const call = async (method: string, params: readonly unknown[]): Promise<unknown> => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const headers = { 'content-type': 'application/json' };
    const answer: unknown = await (
      await fetch(`http://127.0.0.1:${port}/rpc`, { method: 'POST', headers, body })
    ).json();
    if (typeof answer === 'object' && answer !== null && 'result' in answer) return answer.result;
    throw new Error(`alto: ${method}: ${JSON.stringify(answer)}`);
  };
  const deadline = performance.now() + 60_000;
  while (
    !(await call('eth_supportedEntryPoints', []).then(
      () => true,
      () => false,
    ))
  ) {
    if (child.exitCode !== null || performance.now() > deadline)
      throw new Error(`alto did not start:\n${output}`);
    await after(200);
  }
  return {
    async estimate({ op, entryPoint, entryPointVersion, paymasterAndData }) {
      const signature = op.signature === '0x' ? dummySignature : op.signature;
      const rendered = renderUserOperation({ ...op, signature }, entryPointVersion, paymasterAndData);
      const found = new Map(
        Object.entries(Object(await call('eth_estimateUserOperationGas', [rendered, entryPoint]))),
      );
      const gas = (name: string): bigint => BigInt(String(found.get(name)));
      return {
        callGasLimit: gas('callGasLimit'),
        verificationGasLimit: gas('verificationGasLimit'),
        preVerificationGas: gas('preVerificationGas'),
      };
    },
    async stop() {
      child.kill('SIGTERM');
      await ended;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

const dummySignature =
  `0x${'fffffffffffffffffffffffffffffff000000000000000000000000000000000'.slice(0, 64)}7aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1c` as const;

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() =>
        address === null || typeof address === 'string'
          ? reject(new Error('no port'))
          : resolve(address.port),
      );
    });
  });
}
