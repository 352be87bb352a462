import { beforeAll, expect, test } from '@jest/globals';
import { Settings } from '../../core/settings.js';
import { readCallLimits } from '../../server/dashboard/call-limits.js';
import { acmeToken, createPaymaster, otherToken, prefix, type Answer } from '../build/dashboard.js';
import { holdsOf } from '../support/loop-holds.js';
import { useDashboard } from '../support/use-dashboard.js';

// A tenant with as much text as its quota allows lists it again and again. Embedded store: the lists of a process are read by
// the thread that serves everybody.

type Page = { readonly data: readonly { readonly name: string }[]; readonly cursor: string | null };

const host = useDashboard();
const count = 200;
let key: string;

beforeAll(async () => {
  ({ key } = await createPaymaster(host, { token: acmeToken, name: 'Large' }));
  const [paymaster] = await host.resources.list('Paymaster', { fields: { 'spec.name': 'Large' } });
  const name = paymaster?.metadata.name ?? '';
  const inputs = Array.from({ length: 5_000 }, (_, index) => ({ type: 'uint256', name: `a${index}` }));
  const abi = JSON.stringify([{ type: 'function', name: 'f', inputs }]).padEnd(190_000);
  for (let index = 0; index < count; index += 1)
    await host.resources.apply({
      manager: 'manifests',
      kind: 'SmartContract',
      key: { namespace: 'acme', name: `c${String(index).padStart(3, '0')}` },
      spec: {
        paymasterRef: { name },
        name: `C${index}`,
        address: `0x${(index + 1).toString(16).padStart(40, '0')}`,
        abi,
      },
    });
});

const list = (query = '', path = '/smart-contract'): Promise<Answer> =>
  host.call('GET', `${path}${query}`, { token: acmeToken, key });

/** Times of another organisation's calls, the longest last. */
async function others(calls: number): Promise<readonly number[]> {
  const times: number[] = [];
  for (let index = 0; index < calls; index += 1) {
    const begun = performance.now();
    const { status } = await host.call('GET', '/paymaster', { token: otherToken });
    expect(status).toBe(200);
    times.push(performance.now() - begun);
  }
  return times.toSorted((a, b) => a - b);
}

test('more than 8 MB at once is 400 and names limit and cursor', async () => {
  const { status, body } = await list();
  expect({ status, body }).toEqual({
    status: 400,
    body: { statusCode: 400, message: expect.stringMatching(/8000000 bytes.*limit.*cursor/) },
  });
});

test('pages have everything, each once, and little at once', async () => {
  const names = new Set<string>();
  let cursor: string | null = '';
  while (cursor !== null) {
    const query = `limit=50${cursor === '' ? '' : `&cursor=${cursor}`}`;
    const response = await host.fetch(`${prefix}/smart-contract?${query}`, {
      headers: { authToken: acmeToken, apiKey: key },
    });
    expect(response.status).toBe(200);
    const { data, cursor: next } = (await response.json()) as Page;
    expect(data.length * 190_000).toBeLessThan(4_000_000);
    for (const { name } of data) names.add(name);
    cursor = next;
  }
  expect(names.size).toBe(count);
});

test('the list of policies, which shows no ABI, is whole', async () => {
  const { status, body } = await list('', '/paymaster-policy');
  expect(status).toBe(200);
  expect(body.data).toHaveLength(count);
});

test.each(['?limit=0', '?limit=1001', '?limit=x', '?cursor=x', '?cursor=e30', '?limit='])(
  'a wrong parameter is 400: %s',
  async (query) => {
    expect((await list(query)).status).toBe(400);
  },
);

test('lists that come together wait for each other', async () => {
  const answers = await Promise.all(Array.from({ length: 8 }, () => list('', '/paymaster')));
  expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200));
});

test('of ten lists at once two are read; they take turns with everything else, another organisation is served, and memory stays', async () => {
  const limited = await host.beside(readCallLimits(new Settings({})));
  const quiet = await others(40);
  const before = process.memoryUsage().rss;
  let isOver = false;
  const statuses: number[] = [];
  let meanwhile: readonly number[] = [];
  const { longestMs, allMs } = await holdsOf(async () => {
    const flood = Array.from({ length: 10 }, async (_, index) => {
      while (!isOver) {
        const path = index % 2 === 0 ? '/smart-contract' : '/paymaster-policy';
        const { status } = await limited.call('GET', path, { token: acmeToken, key });
        statuses.push(status);
      }
    });
    meanwhile = await others(40);
    isOver = true;
    await Promise.all(flood);
  });
  const grown = process.memoryUsage().rss - before;
  const p95 = (times: readonly number[]): number => times[Math.floor(times.length * 0.95)] ?? 0;
  process.stdout.write(
    `${JSON.stringify({ quiet: p95(quiet), meanwhile: p95(meanwhile), longest: meanwhile.at(-1), grown, longestMs, allMs })}\n`,
  );
  expect(statuses.filter((status) => ![200, 400, 429].includes(status))).toEqual([]);
  // Some 60 MB alone, and 2.2 GB before; garbage of other tests in the same process comes on top.
  expect(grown).toBeLessThan(400_000_000);
  // Processor time, which other work on the machine does not change. The old lists held it for all of their time.
  expect(longestMs).toBeLessThan(Math.max(100, allMs / 10));
});
