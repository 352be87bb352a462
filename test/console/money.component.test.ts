import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import type { Page, Route } from 'playwright-core';
import { contrastsOf, cutIn, desktop, violationsOf } from './support/browser.js';
import { useConsole } from './support/console.js';
import { choose, press, sees } from './support/keyboard.js';

// The page Money: the figures of the ledger are made up, so that there are two chains, dollars that are half known, and tokens.

const { connection, open, visit } = useConsole('money');
const formula = '=HYPERLINK("http://evil.example";"shop")';
const sender = '0x00000000000000000000000000000000000000c1';
const token = '0x00000000000000000000000000000000000000f1';
const month = new Date().toISOString().slice(0, 7);

type Row = Readonly<Record<string, unknown>>;

const row = (group: string, spentWei: string, more: Row = {}): Row => ({
  from: `${month}-01T00:00:00.000Z`,
  to: `${month}-28T00:00:00.000Z`,
  group,
  name: null,
  labels: null,
  asks: 3,
  sponsored: 3,
  refused: 1,
  mined: 3,
  reverted: 1,
  expired: 0,
  promisedWei: '0',
  promised: '0',
  spentWei,
  spent: '0',
  spentUsd: null,
  unpricedWei: spentWei,
  oldestPriceSeconds: null,
  tokens: [],
  method: null,
  ...more,
});
const paid = [{ address: token, amount: '2500001', decimals: 6, rendered: '2.500001' }];

/** By groupBy. */
const rows: Readonly<Record<string, readonly Row[]>> = {
  chain: [
    row('31337', '1000000000000000007', { spentUsd: '3000.000001', unpricedWei: '0', tokens: paid }),
    row('10', '5', {}),
  ],
  paymaster: [
    row('a', '7', { name: 'small', spentUsd: '0.000001', unpricedWei: '0' }),
    row('b', '1000000000000000000', { name: formula, spentUsd: '3000', unpricedWei: '0', tokens: paid }),
    row('c', '5', { name: 'on the other chain' }),
  ],
  method: [row('counter:0xd09de08a', '1000000000000000012', { method: 'increment' })],
  sender: [row(sender, '1000000000000000000', { unpricedWei: null })],
  key: [row('(none)', '12'), row('partner-a', '1000000000000000000')],
};
const line = (name: string, amountWei: string | null, more: Row = {}): Row => ({
  line: name,
  paymasterId: null,
  paymaster: null,
  amountWei,
  amount: amountWei,
  usd: null,
  unpricedWei: '0',
  oldestPriceSeconds: 0,
  count: 0,
  blockNumber: null,
  source: '',
  note: null,
  ...more,
});
const statement = {
  month,
  from: '',
  to: '',
  nextCursor: null,
  prices: [],
  items: [
    {
      account: sender,
      kind: 'deposit',
      contract: sender,
      chainId: 31337,
      transfers: [],
      unreadBlocks: [],
      lines: [
        line('opening', '20'),
        line('deposits', '0'),
        line('mined', '-8', { paymaster: formula, count: 3, usd: '-3000.01' }),
        line('others', null, { note: 'both balances must be known' }),
        line('closing', null, { note: 'the month is not over' }),
      ],
    },
  ],
};

/** Tables are those of the server. */
async function answer(route: Route): Promise<void> {
  const request = route.request();
  const url = new URL(request.url());
  const isTable = request.headers()['accept'] === 'text/csv';
  const items = rows[url.searchParams.get('groupBy') ?? ''] ?? [];
  const [from, to] = [`${month}-01T00:00:00.000Z`, `${month}-28T00:00:00.000Z`];
  const usage = { from, to, step: 'month', groupBy: null, additive: true, items, nextCursor: null };
  const explorer = 'https://explorer.example';
  const dev = { chainId: 31337, name: 'dev', symbol: 'ETH', explorer, suspended: false, versions: [] };
  const answers: Readonly<Record<string, unknown>> = {
    usage,
    statements: statement,
    chains: { items: [dev], nextCursor: null },
    tokens: { items: [{ address: token, symbol: 'USDC', decimals: 6 }], nextCursor: null },
  };
  const name = url.pathname.split('/').at(-1) ?? '';
  if (isTable || !Object.hasOwn(answers, name)) await route.continue();
  else await route.fulfill({ json: { data: answers[name] } });
}

const opened = (path: string) =>
  open(path, { answers: (page) => page.route(/\/manage\/v1\/(?!me$)/, answer) });

/** Of a table, as it is read. */
async function rowsOf(page: Page, caption: string): Promise<readonly string[]> {
  const table = page.getByRole('table', { name: caption });
  await table.waitFor();
  return table
    .locator('tbody tr, tfoot tr')
    .evaluateAll((all) =>
      all.map((each) =>
        [...each.querySelectorAll('td')]
          .map((cell) => (cell.textContent ?? '').replace(/Copy/g, '').trim())
          .join(' | '),
      ),
    );
}

describe('money', () => {
  test('is in the coin of each chain, in dollars where a price is known, and never a guess', async () => {
    const { page, faults } = await opened('money');
    await page.getByText('Spent on dev').waitFor();
    // Symbols are asked for once it is known of which chains and tokens.
    await page.getByText('2.500001 USDC').first().waitFor();
    const tiles = await page.locator('.tile').allTextContents();
    expect(tiles).toEqual([
      'Spent on dev1 ETH3,000.00 US dollars · 3 operations',
      'Spent on chain 100.000000000000000005 coinsno price in dollars · 3 operations',
    ]);
    expect(await rowsOf(page, 'Token income')).toEqual(['USDC 0x0000…00f1 | dev | 2.500001 USDC']);
    expect(faults).toEqual([]);
  });

  test('has the biggest first, and the names that somebody chose are texts', async () => {
    const { page } = await opened('money');
    const found = await rowsOf(page, 'Spent by paymaster');
    expect(found.map((each) => each.split(' | ')[0])).toEqual([
      formula,
      'small',
      'on the other chain',
      'Total',
    ]);
    expect(found[0]).toContain('3,000.00');
    expect(found[2]).toContain('no price');
    // Coins of two chains are not one amount.
    expect(found.at(-1)?.split(' | ')[3]).toBe('–');
    expect(await page.locator('main a[href^="http://evil"]').count()).toBe(0);
  });

  test.each([
    ['method', 'counter.increment'],
    ['sender', '0x0000…00c1'],
    ['key', 'partner-a'],
  ])('is grouped by %s', async (by, name) => {
    const { page, faults } = await opened(`money?by=${by}`);
    await page.getByRole('cell', { name }).first().waitFor();
    expect(await violationsOf(page)).toEqual([]);
    expect(faults).toEqual([]);
  });

  test('by account says what no decision is recorded of, so that it adds up', async () => {
    const { page } = await opened('money?by=sender');
    const found = await rowsOf(page, 'Spent by account');
    expect(found[1]).toMatch(/^no decision is recorded \| 0 \| 0 \| 0\.000000000000000012 coins/);
  });

  test('keeps the total at the end when somebody sorts', async () => {
    const { page } = await opened('money');
    await page.getByRole('button', { name: 'Spent', exact: true }).click();
    await page.getByRole('button', { name: 'Spent', exact: true }).click();
    const found = await rowsOf(page, 'Spent by paymaster');
    expect(found.map((each) => each.split(' | ')[0])).toEqual([
      'on the other chain',
      'small',
      formula,
      'Total',
    ]);
  });
});

test.each([
  ['finance', /^Spent on dev/],
  ['stop', /^This page needs a token with the scope read or finance or write/],
])('a token with the scope %s alone sees %s', async (scope, says) => {
  const { dashboardUrl, authToken } = connection();
  const made = await fetch(`${dashboardUrl}/manage/v1/tokens`, {
    method: 'POST',
    headers: { authToken, 'content-type': 'application/json' },
    body: JSON.stringify({ name: `only-${scope}`, scopes: [scope] }),
  });
  const { data } = (await made.json()) as { readonly data: { readonly token: string } };
  const { page, faults, close } = await visit();
  const asked: string[] = [];
  page.on('request', (request) => asked.push(request.url()));
  await page.goto(`${dashboardUrl}/console/#/money`);
  await page.getByLabel('Token').fill(data.token);
  await page.route(/\/usage\?/, answer);
  await page.keyboard.press('Enter');
  await page.getByText(says).first().waitFor();
  await page.waitForLoadState('networkidle');
  expect(faults).toEqual([]);
  expect(asked.some((url) => /usage|statements/.test(url))).toBe(scope === 'finance');
  await close();
});

describe('the statement', () => {
  test('names what changed each account, and says why something is not known', async () => {
    const { page } = await opened('money');
    await page.getByRole('heading', { name: /^Deposit of contract 0x0000…00c1/ }).waitFor();
    await page.getByRole('cell', { name: '20 ETH' }).waitFor();
    expect(await rowsOf(page, `Deposit of contract ${sender}`)).toEqual([
      'Opening balance | – | 20 ETH | – | –',
      `Operations of ${formula} | 3 | -8 ETH | -3,000.01 | –`,
      'Not explained by any event | – | not known | – | both balances must be known',
      'Closing balance | – | not known | – | the month is not over',
    ]);
  });

  test('leads to the explorer of the chain, in a window that knows nothing of this one', async () => {
    const { page } = await opened('money');
    const link = page.locator('h3').getByRole('link', { name: '0x0000…00c1' });
    await link.waitFor();
    expect(await link.getAttribute('href')).toBe(`https://explorer.example/address/${sender}`);
    expect(await link.getAttribute('rel')).toBe('noopener noreferrer');
  });
});

describe("the month's money and its table", () => {
  test('take two clicks', async () => {
    const { page } = await opened('overview');
    await page.getByRole('link', { name: 'Money', exact: true }).click();
    const saving = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Save as CSV' }).click();
    const download = await saving;
    expect(download.suggestedFilename()).toBe(`money-${month}-by-paymaster.csv`);
    const text = readFileSync(await download.path(), 'utf8');
    expect(text.split('\r\n')[0]).toMatch(/^from,to,group,name,.*spentWei,spent,spentUsd,unpricedWei/);
  });

  test('are reached by the keyboard alone', async () => {
    const { page, faults } = await opened('overview');
    await press('Money')(page);
    const saving = page.waitForEvent('download');
    await press('Save statement as CSV')(page);
    const download = await saving;
    expect(download.suggestedFilename()).toBe(`statement-${month}.csv`);
    expect(readFileSync(await download.path(), 'utf8')).toMatch(/^account,kind,contract,chainId,line,/);
    expect(faults).toEqual([]);
  });
});

describe('a range of days', () => {
  test('is chosen by the keyboard, ends with its last day, and has no statement', async () => {
    const { page } = await opened('money');
    await choose('Period', 'Own range')(page);
    await page.getByLabel('First day').waitFor();
    const asked = page.waitForRequest((request) => request.url().includes('to=2026-03-18'));
    await page.getByLabel('First day').fill('2026-03-02');
    await page.getByLabel('Last day').fill('2026-03-17');
    expect(new URL((await asked).url()).searchParams.get('from')).toBe('2026-03-02T00:00:00.000Z');
    await sees('A statement of the accounts that pay is of a calendar month')(page);
    expect(await violationsOf(page)).toEqual([]);
  });

  test.each([
    ['of a hundred years is refused, and says how many days it may have', '2000-01-01', /at most 4000 days/],
    ['that ends before it begins is refused', '2099-12-31', /from must be before to/],
  ])('%s', async (_name, from, says) => {
    const { page } = await open(
      `money?period=own&from=${from}&to=${from === '2000-01-01' ? '2099-12-31' : '2026-01-01'}`,
    );
    await page.getByRole('alert').getByText(says).first().waitFor();
  });

  test('that is not made of days is that of this month', async () => {
    const { page } = await open('money?period=own&from=javascript:1&to=%3Cimg%3E');
    await page.getByText(`${month}-01 to ${new Date().toISOString().slice(0, 10)}`).waitFor();
  });
});

test('all of it is accessible in light and dark, and needs no scroll to the side at 200 % zoom or on a phone', async () => {
  const { page, faults } = await opened('money');
  await page.getByText('Not explained by any event').waitFor();
  expect(await violationsOf(page)).toEqual([]);
  expect(await contrastsOf(page, 'dark')).toEqual([]);
  for (const viewport of [desktop, { width: 640, height: 450 }, { width: 390, height: 844 }])
    expect({ viewport, cut: await cutIn(page, viewport) }).toEqual({ viewport, cut: [] });
  expect(faults).toEqual([]);
});

test('on paper are the figures, whose they are and of when, and nothing that could be pressed', async () => {
  const { page } = await opened('money');
  await page.getByText('Not explained by any event').waitFor();
  // As wide as A4 between its margins.
  await page.setViewportSize({ width: 718, height: 1000 });
  await page.emulateMedia({ media: 'print' });
  const seen = await page.evaluate(() => document.body.innerText);
  expect(seen).toMatch(/money[\s\S]*whole days in UTC[\s\S]*Closing balance/);
  expect(await page.locator('button:not(.sort), select, input').filter({ visible: true }).count()).toBe(0);
  expect(await page.getByRole('columnheader', { name: 'US dollars' }).first().isVisible()).toBe(true);
  expect(await cutIn(page, { width: 718, height: 1000 })).toEqual([]);
  await page.emulateMedia({ media: null });
});
