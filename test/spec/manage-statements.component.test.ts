import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Movement } from '../../core/ledger/movement.js';
import { parseAddressKey, type AddressKey } from '../../core/units/address.js';
import type { EpochMs } from '../../core/units/time.js';
import { managePrefix } from '../../server/dashboard/endpoints.js';
import { acmeToken, chainId, otherToken, recordOf } from '../build/dashboard.js';
import { aMovement, aStep } from '../conformance/ledger-movements.js';
import { address, alone, aSample, at } from '../conformance/ledger-records.js';
import { createMemoryLedger } from '../fakes/memory-ledger.js';
import { useDashboard } from '../support/use-dashboard.js';

// Statements: whose they are, what they say where something is not known, and as a table for a spreadsheet.

const ledger = createMemoryLedger();
const host = useDashboard({ ledger, operator: true, programmedTimeoutMs: 60_000 });
const january = at('2026-01-01T00:00:00Z');
const february = at('2026-02-01T00:00:00Z');
const month = 'month=2026-01';
type Record = Readonly<{ [name: string]: unknown }>;

async function ask(path: string, token = acmeToken) {
  const response = await host.fetch(`${managePrefix}${path}`, { headers: { authToken: token } });
  const body = recordOf(await response.json());
  return {
    status: response.status,
    message: typeof body['detail'] === 'string' ? body['detail'] : '',
    accounts: (body['data'] === undefined ? [] : recordOf(body['data'])['items']) as readonly Record[],
    data: body['data'],
  };
}

async function madePaymaster(name: string, token: string): Promise<string> {
  const made = await host.call('POST', '/paymaster', {
    token,
    body: { name, type: 'HYBRID', chainId, version: '1.0.0' },
  });
  return String(recordOf(made.body.data)['paymasterId']);
}

const linesOf = (account: Record | undefined): readonly Record[] =>
  (account?.['lines'] ?? []) as readonly Record[];
const lineOf = (account: Record | undefined, name: string): Record | undefined =>
  linesOf(account).find(({ line }) => line === name);

let shop: string;
let contract: AddressKey;
let depositOf: (answer: Awaited<ReturnType<typeof ask>>) => Record | undefined;
beforeAll(async () => {
  shop = await madePaymaster('=HYPERLINK("http://evil.example";"shop")', acmeToken);
  const other = await madePaymaster('theirs', otherToken);
  const [first] = (await ask(`/statements?${month}`)).accounts;
  contract = parseAddressKey(String(first?.['contract']));
  depositOf = ({ accounts }) =>
    accounts.find((one) => one['contract'] === contract && one['kind'] === 'deposit');
  const moved = (block: number, change: Partial<Movement>): Movement =>
    aMovement(block, { contract, ...change });
  const balance = (kind: 'edge', time: EpochMs, block: number, amountWei: bigint): Movement =>
    moved(block, { kind, at: time, amountWei, count: 0 });
  await ledger.append(
    alone(
      {
        ...aStep(
          chainId,
          [1, 1_000],
          [
            balance('edge', january, 0, 10n ** 18n),
            moved(5, { kind: 'deposit', amountWei: 500n }),
            moved(6, { organisation: 'acme', paymasterId: shop, amountWei: 3n * 10n ** 15n, count: 2 }),
            moved(7, { organisation: 'other', paymasterId: other, amountWei: 2n * 10n ** 15n }),
            moved(8, { kind: 'loss', organisation: 'acme', paymasterId: shop, amountWei: 7n }),
            balance('edge', february, 900, 10n ** 18n - 5n * 10n ** 15n + 483n),
          ],
        ),
        covered: [
          { contract, fromBlock: 1, toBlock: 700 },
          { contract, fromBlock: 703, toBlock: 1_000 },
        ],
      },
      aSample(contract, (january + 60_000) as EpochMs, { chainId, usdPerNative: 2_000n * 10n ** 18n }),
    ),
  );
});

describe('a statement', () => {
  test('names own paymasters, adds up others, and says what nothing explains', async () => {
    const answer = await ask(`/statements?${month}`);
    expect(answer.status).toBe(200);
    const deposit = depositOf(answer);
    expect(lineOf(deposit, 'mined')).toMatchObject({
      paymasterId: shop,
      paymaster: '=HYPERLINK("http://evil.example";"shop")',
      amountWei: '-3000000000000000',
      amount: '-0.003',
      usd: '-6',
      count: 2,
    });
    expect(lineOf(deposit, 'minedByOthers')).toMatchObject({
      paymasterId: null,
      amountWei: '-2000000000000000',
    });
    expect(lineOf(deposit, 'losses')).toMatchObject({ amountWei: '-7', usd: '-0.000001' });
    expect(lineOf(deposit, 'others')).toMatchObject({
      amountWei: '-10',
      note: 'blocks 701 to 702 were not read',
    });
    expect(deposit?.['unreadBlocks']).toEqual([{ fromBlock: 701, toBlock: 702 }]);
    const sum = linesOf(deposit).reduce(
      (all, { line, amountWei }) => (line === 'closing' ? all : all + BigInt(String(amountWei))),
      0n,
    );
    expect(String(sum)).toBe(lineOf(deposit, 'closing')?.['amountWei']);
  });

  test('says null and why where a balance is not known, and never 0', async () => {
    const open = depositOf(await ask('/statements?month=2026-02'));
    expect(lineOf(open, 'opening')).toMatchObject({ amountWei: '995000000000000483', usd: null });
    expect(lineOf(open, 'closing')?.['amountWei']).toBeNull();
    expect(lineOf(open, 'others')).toMatchObject({ amountWei: null, note: 'both balances must be known' });
    const before = depositOf(await ask('/statements?month=2025-12'));
    expect(lineOf(before, 'opening')).toMatchObject({
      amountWei: null,
      note: expect.stringContaining('no balance'),
    });
  });

  test('of one paymaster counts every other one among the others', async () => {
    const second = await madePaymaster('second', acmeToken);
    const deposit = depositOf(await ask(`/statements?${month}&paymasterId=${second}`));
    expect(lineOf(deposit, 'mined')).toBeUndefined();
    expect(lineOf(deposit, 'minedByOthers')).toMatchObject({ amountWei: '-5000000000000000' });
  });

  test('as a table has numbers that a spreadsheet adds up, and no name that it would run', async () => {
    const response = await host.fetch(`${managePrefix}/statements?${month}`, {
      headers: { authToken: acmeToken, accept: 'text/csv' },
    });
    const text = await response.text();
    const [head, ...rows] = text.trim().split('\r\n');
    expect(head).toMatch(/^account,kind,contract,chainId,line,/);
    const mined = rows.find((row) => row.includes(',mined,'));
    expect(mined).toContain(`,"'=HYPERLINK(""http://evil.example"";""shop"")",-3000000000000000,-0.003,-6,`);
    for (const row of rows) expect(row).not.toMatch(/(^|,)"?[=+@]/);
  });
});

describe('of a statement of another organisation', () => {
  test('neither its paymaster nor its name is answered: all others are one sum', async () => {
    expect(await ask(`/statements?${month}&paymasterId=${shop}`, otherToken)).toMatchObject({ status: 404 });
    const theirs = await ask(`/statements?${month}`, otherToken);
    expect(theirs.status).toBe(200);
    const text = JSON.stringify(theirs.data);
    for (const secret of [shop, 'HYPERLINK']) expect(text).not.toContain(secret);
    expect(lineOf(depositOf(theirs), 'lossesOfOthers')).toMatchObject({ amountWei: '-7' });
  });
});

test.each([
  ['month=2026-13', /month must be a month such as 2026-01, got "2026-13"/],
  ['month=2026-1', /month must be a month such as/],
  ['month=1969-12', /month must be a month such as/],
  ['month=9999-01', /month must be a month that has begun, got/],
  ['paymasterId=1', /paymasterId must be a UUID/],
  [`account=${address(1)}`, /query must be made of month, paymasterId, got "account"/],
])('a wrong question is answered with what is wrong: %s', async (query, message) => {
  expect(await ask(`/statements?${query}`)).toMatchObject({
    status: 400,
    message: expect.stringMatching(message),
  });
});
