import { spawn, type ChildProcess } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Interface, toBeHex } from 'ethers';
import type { Goal } from './goals.js';
import { programFile } from '../support/program.js';
import type { BenchOptions } from './options.js';
import { percentile } from './statistics.js';

export type PropagationResult = { readonly millis: readonly number[]; readonly goals: readonly Goal[] };

const root = fileURLToPath(new URL('../../../', import.meta.url));

/**
 * From saving a manifest to being served by it: the whole standalone service runs with the quickstart manifests; the
 * contract's whitelist is emptied and filled in turn, and a client asks until its answer changes.
 */
export async function measurePropagation({ count }: Pick<BenchOptions, 'count'>): Promise<PropagationResult> {
  const directory = mkdtempSync(join(tmpdir(), 'paymaster-propagation-'));
  const manifests = join(directory, 'manifests');
  cpSync(join(root, 'examples/quickstart'), manifests, { recursive: true });
  const service = startService({ directory, manifests, port: await freePort() });
  try {
    const connection = await readConnection(service, join(directory, 'data/connection.json'));
    const client = createClient(connection);
    const file = join(manifests, 'contract.yaml');
    const full = readFileSync(file, 'utf8');
    const empty = full.replace(/^ {2}whitelistedMethods: .*$/m, '  whitelistedMethods: []');
    if (empty === full) throw new Error(`${file} has no whitelistedMethods to edit`);
    if (!(await client.isSponsored())) throw new Error('the quickstart does not sponsor its contract');

    const millis: number[] = [];
    for (let edit = 0; edit < 2 * count(20); edit += 1) {
      const isFilled = edit % 2 === 1;
      writeFileSync(file, isFilled ? full : empty);
      const savedAt = performance.now();
      while ((await client.isSponsored()) !== isFilled) {
        if (performance.now() - savedAt > 30_000) throw new Error('an edit was not served within 30 s');
        await pause(2);
      }
      millis.push(performance.now() - savedAt);
    }
    return { millis, goals: goalsOf(millis) };
  } finally {
    await stopService(service);
    rmSync(directory, { recursive: true, force: true });
  }
}

function goalsOf(millis: readonly number[]): readonly Goal[] {
  return [
    { name: 'manifest saved → served, p50', value: percentile(millis, 0.5), unit: 'ms' },
    {
      name: 'manifest saved → served, p99',
      value: percentile(millis, 0.99),
      unit: 'ms',
      required: { atMost: 1000 },
    },
  ];
}

type Connection = {
  readonly rpcUrl: string;
  readonly sponsoredContract: { readonly address: string; readonly method: string };
};

function startService(options: {
  readonly directory: string;
  readonly manifests: string;
  readonly port: number;
}): ChildProcess {
  const entry = programFile('standalone');
  return spawn(process.execPath, ['--no-warnings', entry], {
    env: {
      PATH: process.env['PATH'] ?? '',
      PORT: String(options.port),
      PAYMASTER_DATA_DIR: join(options.directory, 'data'),
      PAYMASTER_MANIFESTS: options.manifests,
      BUNDLER: '0',
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

async function stopService(service: ChildProcess): Promise<void> {
  if (service.exitCode !== null || service.signalCode !== null) return;
  const ended = new Promise((resolve) => service.once('exit', resolve));
  service.kill('SIGTERM');
  const force = setTimeout(() => service.kill('SIGKILL'), 20_000);
  await ended;
  clearTimeout(force);
}

/** The service writes the file when everything answers. */
async function readConnection(service: ChildProcess, file: string): Promise<Connection> {
  const deadline = performance.now() + 120_000;
  while (!existsSync(file)) {
    if (service.exitCode !== null) throw new Error(`the service ended with ${service.exitCode}`);
    if (performance.now() > deadline) throw new Error('the service was not up within two minutes');
    await pause(50);
  }
  return JSON.parse(readFileSync(file, 'utf8')) as Connection;
}

/** Asks for the sponsorship of one call; a new sender each time, so that no limit per user is met. */
function createClient({ rpcUrl, sponsoredContract }: Connection) {
  const inner = new Interface([`function ${sponsoredContract.method}`]).encodeFunctionData(
    sponsoredContract.method.split('(')[0] ?? '',
  );
  const account = new Interface(['function execute(address dest, uint256 value, bytes func)']);
  const callData = account.encodeFunctionData('execute', [sponsoredContract.address, 0, inner]);
  let asked = 0;
  return {
    async isSponsored(): Promise<boolean> {
      asked += 1;
      const op = {
        sender: toBeHex(asked, 20),
        nonce: '0x0',
        initCode: '0x',
        callData,
        callGasLimit: '0x186a0',
        verificationGasLimit: '0x186a0',
        preVerificationGas: '0xc350',
        maxFeePerGas: '0x3b9aca00',
        maxPriorityFeePerGas: '0x3b9aca00',
      };
      const params = [op, { mode: 'SPONSORED', calculateGasLimits: false }];
      const response = await fetch(rpcUrl, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id: asked, method: 'pm_sponsorUserOperation', params }),
        signal: AbortSignal.timeout(10_000),
      });
      const answer = (await response.json()) as { result?: { paymasterAndData?: string } };
      const data = answer.result?.paymasterAndData;
      if (data === undefined) throw new Error(`the service does not answer: ${JSON.stringify(answer)}`);
      return data !== '0x';
    },
  };
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
