import { createHash, randomBytes } from 'node:crypto';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { encodeFunctionData, parseAbi } from 'viem';
import { stringify } from 'yaml';
import { isObject } from '../../core/schema/json-value.js';
import type { Connection } from '../../standalone/connection.js';
import { repositoryRoot } from '../support/repository-root.js';
import { startFlood } from '../support/flood.js';
import { isSoak } from '../support/soak-seconds.js';
import { until } from '../support/until.js';
import { dashboard, freshUserOp, rpc, rpcUrlFor } from '../system/support/client.js';
import { asking, p95, times } from './support/beside-a-flood.js';
import {
  removeDataDirectory,
  startStandalone,
  type RunningStandalone,
} from '../system/support/standalone.js';

// Anybody with a public key sends batches of a hundred calls, each with as much work as five expressions allow; a tenant sends batches
// of explanations. They once held the thread that signs for half a second at a time.

const token = randomBytes(24).toString('hex');
let manifests: string;
let running: RunningStandalone;
let connection: Required<Connection>;
let ruledUrl: string;

beforeAll(async () => {
  manifests = mkdtempSync(join(tmpdir(), 'paymaster-batches-'));
  cpSync(join(repositoryRoot, 'examples/quickstart'), manifests, { recursive: true });
  writeFileSync(
    join(manifests, 'ruled.yaml'),
    [...ruledTenant()].map((each) => stringify(each)).join('---\n'),
  );
  running = await startStandalone({ environment: { PAYMASTER_MANIFESTS: manifests } });
  await until('both paymasters sponsor', async () => {
    connection = running.connection();
    if (connection.sponsoredContract === undefined || !(await sponsored())) return false;
    const { body } = await dashboard({ ...connection, authToken: token }, 'GET', '/paymaster');
    const [paymaster] = Array.isArray(body.data) ? (body.data as unknown[]) : [];
    if (!isObject(paymaster) || typeof paymaster['apiKey'] !== 'string') return false;
    ruledUrl = rpcUrlFor(connection, paymaster['apiKey']);
    const { result } = await rpc(ruledUrl, 'pm_sponsorUserOperation', [
      freshUserOp(connection),
      { mode: 'SPONSORED' },
    ]);
    return result?.['paymasterAndData'] !== undefined;
  });
});
afterAll(async () => {
  running?.signal('SIGKILL');
  await running?.ended;
  if (running !== undefined) removeDataDirectory(running.dataDirectory);
  rmSync(manifests, { recursive: true, force: true });
});

/** An organisation whose paymaster has as many expressions as it may, each as long as it may be. Its name comes after the quickstart's. */
function* ruledTenant(): Iterable<object> {
  const apiVersion = 'paymasters.dev/v1alpha1';
  const sha256 = createHash('sha256').update(token).digest('hex');
  yield {
    apiVersion,
    kind: 'Organisation',
    metadata: { name: 'tenant' },
    spec: { namespace: 'tenant', tokens: [{ name: 'flood', sha256 }] },
  };
  yield {
    apiVersion,
    kind: 'Paymaster',
    metadata: { name: 'ruled', namespace: 'tenant' },
    spec: { name: 'ruled', chainId: 31337, type: 'HYBRID', version: '1.1.0' },
  };
  const sum = Array.from({ length: 9 }, () => 'c.value % (c.value + 1)').join(' + ');
  for (let index = 0; index < 5; index += 1)
    yield {
      apiVersion,
      kind: 'PaymasterPolicy',
      metadata: { name: `e${index}`, namespace: 'tenant' },
      spec: {
        paymasterRef: { name: 'ruled' },
        name: `e${index}`,
        policyType: 'EXPRESSION',
        expression: { text: `calls.all(c, ${sum} >= ${index})` },
      },
    };
}

const executeBatch = parseAbi(['function executeBatch(address[] dest, uint256[] value, bytes[] func)']);

function wideOperation(): object {
  const { address } = connection.sponsoredContract;
  const each = <T>(value: T): T[] => Array.from({ length: 5 }, () => value);
  return {
    ...freshUserOp(connection),
    callData: encodeFunctionData({
      abi: executeBatch,
      args: [each(address as `0x${string}`), each((1n << 255n) - 1n), each('0xd09de08a' as const)],
    }),
  };
}

const senderOnly = () => ({ sender: `0x${randomBytes(20).toString('hex')}` });

function batchOf(calls: number, method: string): string {
  const wide = wideOperation();
  const params = () => [{ ...wide, ...senderOnly() }, { mode: 'SPONSORED' }];
  return JSON.stringify(
    Array.from({ length: calls }, (_, id) => ({ jsonrpc: '2.0', id, method, params: params() })),
  );
}

const { sponsored, isAlive } = asking(() => connection);

test.each([
  {
    name: 'batches of sponsorships',
    at: 32,
    bodyOf: () => batchOf(100, 'pm_sponsorUserOperation'),
    headers: {},
  },
  {
    name: 'batches of explanations',
    at: 8,
    bodyOf: () => batchOf(100, 'pm_explainSponsorship'),
    headers: { authtoken: token },
  },
])('$name: another organisation does not wait for them', async ({ at, bodyOf, headers }) => {
  const body = bodyOf();
  await times(sponsored, 100);
  const quiet = await times(sponsored, 40);
  const flood = startFlood({ url: ruledUrl, body, headers, connections: at });
  await flood.isAnswered;
  const before = flood.answers();
  const others = await times(sponsored, 40);
  const batches = flood.answers() - before;
  const alive = await times(isAlive, 40);
  const statuses = await flood.stop();
  process.stdout.write(
    `${JSON.stringify({ quiet: p95(quiet), others: p95(others), alive: alive.at(-1), batches, statuses })}\n`,
  );
  // Once each call of others waited for 15 to 25 batches; their times depend on the machine, of which a soak has all.
  expect(batches / others.length).toBeLessThan(4);
  if (isSoak) {
    expect(p95(others)).toBeLessThan(5 * p95(quiet));
    expect(alive.at(-1)).toBeLessThan(250);
  }
});
