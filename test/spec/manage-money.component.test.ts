import { beforeAll, describe, expect, test } from '@jest/globals';
import { managePrefix } from '../../server/dashboard/endpoints.js';
import { acmeToken, chainId, recordOf } from '../build/dashboard.js';
import {
  aDecision,
  address,
  aGap,
  alone,
  aSettlement,
  at,
  reservationOf,
} from '../conformance/ledger-records.js';
import { createMemoryLedger } from '../fakes/memory-ledger.js';
import { useDashboard } from '../support/use-dashboard.js';

// The money of a month: every grouping says the same sum, to the wei, and no name in its table is a formula.

const ledger = createMemoryLedger();
const host = useDashboard({ ledger, operator: true, programmedTimeoutMs: 60_000 });
const january = 'from=2026-01-01T00:00:00Z&to=2026-02-01T00:00:00Z&step=month';
const formula = '=HYPERLINK("http://evil.example";"shop")';
const spent = [1n, 10n ** 18n + 7n, 33n];
const total = spent.reduce((sum, wei) => sum + wei, 0n);
const paid = { address: address(50), amount: 2_500_001n, decimals: 6 };

async function ask(path: string, accept = 'application/json') {
  const response = await host.fetch(`${managePrefix}${path}`, { headers: { authToken: acmeToken, accept } });
  return { status: response.status, text: await response.text() };
}

async function rowsBy(groupBy: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const { text } = await ask(`/usage?${january}&groupBy=${groupBy}`);
  return recordOf(recordOf(JSON.parse(text))['data'])['items'] as readonly Record<string, unknown>[];
}

beforeAll(async () => {
  const made = await host.call('POST', '/paymaster', {
    token: acmeToken,
    body: { name: formula, type: 'HYBRID', chainId, version: '1.0.0' },
  });
  const paymasterId = String(recordOf(made.body.data)['paymasterId']);
  const time = at('2026-01-15T12:00:00Z');
  const selector = '0x42966c68' as const;
  const operations = spent.map((actualGasCostWei, index) => {
    const decision = aDecision('acme', time, {
      paymasterId,
      sender: address(index),
      nonce: BigInt(index),
      calls: [1, 2, 3].slice(index).map((target) => ({
        target: address(target),
        selector: selector as never,
        contractId: `@contract-${target}`,
        name: 'burn',
      })),
      policies: index === 1 ? [{ policyId: 'web', effect: 'key' }] : [],
    });
    const token = index === 1 ? paid : undefined;
    return reservationOf(decision, aSettlement(decision, time, { actualGasCostWei, token }));
  });
  await ledger.append([...operations.flat(), ...alone(aGap('acme', time))]);
});

describe('the money of a month', () => {
  test.each(['paymaster', 'chain', 'method', 'contract', 'sender', 'key', 'mode', 'reason'])(
    'by %s is what the ledger has, to the wei, as JSON and as a table',
    async (groupBy) => {
      const rows = await rowsBy(groupBy);
      expect(rows.reduce((sum, { spentWei }) => sum + BigInt(String(spentWei)), 0n)).toBe(total);
      const tokens = rows.flatMap((row) => row['tokens'] as readonly { readonly amount: string }[]);
      expect(tokens.reduce((sum, { amount }) => sum + BigInt(amount), 0n)).toBe(paid.amount);
      const { text } = await ask(`/usage?${january}&groupBy=${groupBy}`, 'text/csv');
      const [head = '', ...lines] = text.trim().split('\r\n');
      // Names may have commas, so columns are counted from the end.
      const last = head.split(',').length - head.split(',').indexOf('spentWei');
      const plain = lines.map((line) => line.replaceAll(/"(?:[^"]|"")*"/g, '').split(','));
      expect(plain.reduce((sum, cells) => sum + BigInt(cells.at(-last) ?? ''), 0n)).toBe(total);
      for (const line of lines) expect(line).not.toMatch(/(^|,)"?[=+@]/);
    },
  );

  test('by key names those who asked, and has what the first apiKey asked for apart', async () => {
    expect(await rowsBy('key')).toMatchObject([
      { group: '(none)', spentWei: '34', mined: 2, refused: 5 },
      { group: 'web', spentWei: '1000000000000000007', mined: 1, tokens: [{ amount: '2500001' }] },
    ]);
  });

  test('names a paymaster that is called as a formula as a text', async () => {
    const { text } = await ask(`/usage?${january}&groupBy=paymaster`, 'text/csv');
    expect(text).toContain(`"'=HYPERLINK(""http://evil.example"";""shop"")"`);
  });

  test('has no cell that a spreadsheet would run, by whichever sign it begins', async () => {
    const signs = ['=1+1', '+1+1', '-1+1', '@SUM(1)', '\t=1', '\n=1', '＝1+1', '＋1', '－1', '＠SUM(1)'];
    const time = at('2026-02-10T12:00:00Z');
    const decisions = signs.map((contractId, index) =>
      aDecision('acme', time, {
        nonce: BigInt(100 + index),
        calls: [{ target: address(1), selector: '0x42966c68' as never, contractId, name: 'burn' }],
      }),
    );
    await ledger.append(decisions.flatMap((decision) => reservationOf(decision)));
    const february = 'from=2026-02-01T00:00:00Z&to=2026-03-01T00:00:00Z&step=month&groupBy=contract';
    const { text } = await ask(`/usage?${february}`, 'text/csv');
    for (const sign of signs) expect(text).toMatch(`'${sign}`);
    expect(text).not.toMatch(/,"?[=+@\t＝＋－＠]/);
  });

  test('of a hundred years is refused, and the answer says how many days it may have', async () => {
    const { status, text } = await ask('/usage?from=2000-01-01T00:00:00Z&to=2100-01-01T00:00:00Z&step=month');
    expect(status).toBe(400);
    expect(recordOf(JSON.parse(text))['detail']).toMatch(/at most 4000 days after from/);
  });
});
