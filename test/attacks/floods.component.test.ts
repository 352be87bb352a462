import { createHash, randomBytes } from 'node:crypto';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { stringify } from 'yaml';
import type { Connection } from '../../standalone/connection.js';
import { repositoryRoot } from '../support/repository-root.js';
import { isSoak } from '../support/soak-seconds.js';
import { until } from '../support/until.js';
import { asking, p95, times } from './support/beside-a-flood.js';
import {
  removeDataDirectory,
  startStandalone,
  type RunningStandalone,
} from '../system/support/standalone.js';

// A tenant with a valid token floods the process of `make run`, in each way that once held it for seconds. Meanwhile another
// organisation's operations are sponsored, and the process answers that it lives.

const token = randomBytes(24).toString('hex');
const contracts = 40;
let manifests: string;
let running: RunningStandalone;
let connection: Required<Connection>;

beforeAll(async () => {
  manifests = mkdtempSync(join(tmpdir(), 'paymaster-floods-'));
  cpSync(join(repositoryRoot, 'examples/quickstart'), manifests, { recursive: true });
  writeFileSync(join(manifests, 'flooder.yaml'), [...flooder()].map((each) => stringify(each)).join('---\n'));
  running = await startStandalone({
    environment: {
      PAYMASTER_MANIFESTS: manifests,
      // The defaults, which tests that poll raise.
      PAYMASTER_DASHBOARD_CALLS_PER_SECOND: '20',
      PAYMASTER_DASHBOARD_CALLS_PER_SECOND_OF_ADDRESS: '100',
    },
  });
  await until('the quickstart sponsors', async () => {
    connection = running.connection();
    return connection.sponsoredContract !== undefined && (await sponsored());
  });
});
afterAll(async () => {
  running?.signal('SIGKILL');
  await running?.ended;
  if (running !== undefined) removeDataDirectory(running.dataDirectory);
  rmSync(manifests, { recursive: true, force: true });
});

/** An organisation whose paymaster has contracts with the longest ABIs. Its name comes after the quickstart's, which connection.json describes. */
function* flooder(): Iterable<object> {
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
    metadata: { name: 'wide', namespace: 'tenant' },
    spec: { name: 'wide', chainId: 31337, type: 'HYBRID', version: '1.1.0' },
  };
  const inputs = Array.from({ length: 5_000 }, (_, index) => ({ type: 'uint256', name: `a${index}` }));
  const abi = JSON.stringify([{ type: 'function', name: 'f', inputs }]);
  for (let index = 0; index < contracts; index += 1)
    yield {
      apiVersion,
      kind: 'SmartContract',
      metadata: { name: `c${index}`, namespace: 'tenant' },
      spec: {
        paymasterRef: { name: 'wide' },
        name: `C${index}`,
        address: `0x${(index + 1).toString(16).padStart(40, '0')}`,
        abi,
      },
    };
}

const { sponsored, isAlive } = asking(() => connection);

const ask = async (method: string, path: string, body?: string): Promise<number> => {
  const response = await fetch(new URL(path, connection.dashboardUrl), {
    method,
    headers: { authToken: token, connection: 'close', 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body }),
  });
  await response.text();
  return response.status;
};
const sdk = '/api/v2/public/sdk';

type Flood = { readonly name: string; readonly ask: () => Promise<number> };

test.each<Flood>([
  {
    name: 'bodies of numbers that are tiny and long to write out',
    ask: () => ask('POST', `${sdk}/paymaster`, `{"name":[${'1e-323,'.repeat(140_000)}1]}`),
  },
  { name: 'lists of contracts with the longest ABIs', ask: () => ask('GET', `${sdk}/paymaster`) },
])('$name: others are answered meanwhile', async ({ ask: flood }) => {
  const count = 25;
  const quiet = [await times(isAlive, count), await times(sponsored, count)].flat();
  let isOver = false;
  const statuses = new Map<number, number>();
  const flooding = Array.from({ length: 10 }, async () => {
    while (!isOver) {
      const status = await flood();
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  });
  const answers = () => [...statuses.values()].reduce((sum, each) => sum + each, 0);
  await until('the flood is answered, too', () => answers() > 10);
  const meanwhile = [...(await times(isAlive, count)), ...(await times(sponsored, count))].toSorted(
    (a, b) => a - b,
  );
  isOver = true;
  await Promise.all(flooding);
  const control = p95(quiet.toSorted((a, b) => a - b));
  process.stdout.write(
    `${JSON.stringify({ control, meanwhile: p95(meanwhile), longest: meanwhile.at(-1), statuses: [...statuses] })}\n`,
  );
  // How long they wait depends on the machine: a soak has one to itself.
  if (isSoak) expect(p95(meanwhile)).toBeLessThan(Math.max(1_000, 50 * control));
});
