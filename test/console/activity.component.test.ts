import { readFileSync } from 'node:fs';
import { beforeAll, expect, test } from '@jest/globals';
import type { Page, Request } from 'playwright-core';
import { freshUserOp, rpc } from '../system/support/client.js';
import { until } from '../support/until.js';
import { contrastsOf, cutIn, violationsOf } from './support/browser.js';
import { useConsole } from './support/console.js';
import { choose, press, sees, turn, write } from './support/keyboard.js';
import { askForThree } from './support/three-operations.js';

// The list of decisions: narrowed, followed, saved, and led to by a link.

const { connection, open } = useConsole('activity');
beforeAll(() => askForThree(connection()));

const rows = (page: Page) => page.getByRole('table', { name: 'Decisions' }).locator('tbody tr');
const addressOf = (page: Page): string => decodeURIComponent(new URL(page.url()).hash);
const field = (page: Page, name: string) => page.getByLabel(name, { exact: true });
const list = (page: Page, name: string) => page.getByRole('combobox', { name, exact: true });

async function ask(headers: Readonly<Record<string, string>> = {}): Promise<string> {
  const op = freshUserOp(connection());
  const mode = { mode: 'SPONSORED', calculateGasLimits: false };
  await rpc(connection().rpcUrl, 'pm_sponsorUserOperation', [op, mode], headers);
  return String(op['sender']);
}

async function shows(page: Page, count: number): Promise<void> {
  await until(`${count} rows are shown`, async () => (await rows(page).count()) === count);
}

test('keeps what is being typed into a filter when the page hears news', async () => {
  const { page } = await open('activity');
  await shows(page, 3);
  const search = field(page, 'Account, operation hash or request id');
  await search.pressSequentially('0xab');
  await page.route('**/manage/v1/paymasters?*', async (route) => {
    const response = await route.fetch();
    const { data } = (await response.json()) as { readonly data: { readonly items: readonly Named[] } };
    const items = data.items.map((item) => ({ ...item, spec: { ...item.spec, name: 'Renamed' } }));
    await route.fulfill({ response, json: { data: { ...data, items } } });
  });
  // As a page does that is online again.
  await page.evaluate(() => dispatchEvent(new Event('online')));
  await list(page, 'Paymaster').getByText('Renamed').waitFor({ state: 'attached' });
  expect(await search.inputValue()).toBe('0xab');
});

type Named = { readonly spec: { readonly name: string } };

test('is narrowed by reason, method, account, cost and time; the address says so, and back and forward follow', async () => {
  const { page, faults } = await open('activity', { colorScheme: 'light' });
  await shows(page, 3);
  await list(page, 'Reason').selectOption({ label: 'Method not whitelisted (1)' });
  await shows(page, 1);
  expect(addressOf(page)).toContain('reason=METHOD_NOT_WHITELISTED&verdict=refused');
  await page.getByRole('link', { name: 'Clear filters' }).click();
  await shows(page, 3);

  await list(page, 'Method').selectOption({ label: 'counter.increment' });
  await shows(page, 2);
  expect(addressOf(page)).toContain('selector=0xd09de08a');
  await field(page, 'Costs at least, in coins').fill('1000000');
  await page.keyboard.press('Enter');
  await page.getByText('Nothing in this time that fits.').waitFor();
  await page.goBack();
  await shows(page, 2);
  expect(await field(page, 'Costs at least, in coins').inputValue()).toBe('');
  await page.goBack();
  await shows(page, 3);
  expect(await list(page, 'Method').inputValue()).toBe('');
  await page.goForward();
  await shows(page, 2);
  expect(await list(page, 'Method').inputValue()).toBe('0xd09de08a');

  // A call and an account of the table narrow it, too.
  await page.getByRole('link', { name: 'Clear filters' }).click();
  await shows(page, 3);
  await page.getByRole('link', { name: 'counter.0xffffffff' }).click();
  await shows(page, 1);
  await page.getByRole('link', { name: 'Clear filters' }).click();
  await rows(page).first().getByRole('link', { name: /^0x/ }).click();
  expect(await field(page, 'Account, operation hash or request id').inputValue()).toMatch(
    /^0x[0-9a-f]{40}$/i,
  );

  await list(page, 'Range').selectOption('own');
  await field(page, 'From').fill('2020-01-01T00:00');
  await field(page, 'To (left empty: now)').fill('2020-01-02T00:00');
  await page.getByText('Nothing in this time that fits.').waitFor();
  expect(addressOf(page)).toMatch(/range=own.*from=20/);
  expect(await page.getByRole('button', { name: 'Follow' }).count()).toBe(0);
  expect(await violationsOf(page)).toEqual([]);
  expect(await contrastsOf(page, 'dark')).toEqual([]);
  expect(await cutIn(page, { width: 390, height: 844 })).toEqual([]);
  expect(faults).toEqual([]);
});

test('two filters that are chosen at the same moment both count', async () => {
  const { page } = await open('activity');
  await shows(page, 3);
  await page.evaluate(() => {
    const labels = [...document.querySelectorAll('label')];
    const cost = labels.find(({ textContent }) => textContent?.startsWith('Costs at least'));
    const input = cost!.querySelector('input')!;
    input.value = '0.0000001';
    input.dispatchEvent(new Event('change', { bubbles: true }));
    [...document.querySelectorAll('button')].find(({ textContent }) => textContent === 'Follow')!.click();
  });
  await page.getByText(/^Following/).waitFor();
  await shows(page, 2);
  expect(addressOf(page)).toContain('minCost=0.0000001');
});

test('a link shows what it was copied from, and one that somebody made up does no harm', async () => {
  const { page, faults } = await open('activity?selector=0xd09de08a&verdict=sponsored&minCost=0.0000001');
  await shows(page, 2);
  expect(await field(page, 'Costs at least, in coins').inputValue()).toBe('0.0000001');

  const evil = encodeURIComponent(`<img src=x onerror="document.title='run'">`);
  await page.goto(
    `${connection().dashboardUrl}/console/#/activity?reason=${evil}&range=own&from=${evil}&organisation=other&limit=1000000`,
  );
  await page.getByRole('alert').getByText('from must be a time in UTC').waitFor();
  expect(await page.title()).not.toBe('run');
  expect(await page.locator('main img').count()).toBe(0);
  // The browser logs the answer 400.
  expect(faults.filter((fault) => !fault.includes('400'))).toEqual([]);
});

test('by keyboard: narrowed by verdict and cost, and followed', async () => {
  const { page, faults } = await open('activity');
  for (const stroke of [
    choose('Verdict', 'Spon'),
    write('Costs at least, in coins', '0.0000001'),
    press('Follow'),
    sees(/^Following: new decisions appear/),
  ])
    await stroke(page);
  await shows(page, 2);
  expect(addressOf(page)).toContain('verdict=sponsored');
  expect(addressOf(page)).toContain('follow=yes');
  await turn('Follow')(page);
  await page.getByText(/^Following/).waitFor({ state: 'detached' });
  expect(faults).toEqual([]);
});

test('followed, it shows each new decision once, asks nothing while it is hidden, and has what it missed', async () => {
  const { page, faults } = await open('activity?follow=yes');
  await rows(page).first().waitFor();
  const before = await rows(page).count();
  await ask();
  await shows(page, before + 1);
  expect(await violationsOf(page)).toEqual([]);
  expect(await contrastsOf(page, 'dark')).toEqual([]);

  const setHidden = (isHidden: boolean) =>
    page.evaluate((hidden) => {
      Object.defineProperty(document, 'hidden', { configurable: true, get: () => hidden });
      document.dispatchEvent(new Event('visibilitychange'));
    }, isHidden);
  await setHidden(true);
  await page.waitForLoadState('networkidle');
  const asked: string[] = [];
  const note = (request: Request): void => void asked.push(request.url());
  page.on('request', note);
  const missed = new Set([await ask(), await ask(), await ask()]);
  // Written with others in between, the records are there once this answers.
  await until('the ledger has them', async () => {
    const { dashboardUrl, authToken } = connection();
    const answer = await fetch(`${dashboardUrl}/manage/v1/decisions`, { headers: { authToken } });
    const { data } = (await answer.json()) as { data: { items: readonly { sender: string }[] } };
    return data.items.filter(({ sender }) => missed.has(sender)).length >= missed.size;
  });
  expect(asked).toEqual([]);
  page.off('request', note);
  await setHidden(false);
  await shows(page, before + 4);
  expect(faults).toEqual([]);
});

test('followed, it keeps a bounded number of rows however many decisions come, and asks a bounded number of pages', async () => {
  let round = 0;
  let calls = 0;
  const { page } = await open('activity?follow=yes', {
    // A server that always has more: a million decisions a second.
    answers: (of) =>
      of.route('**/manage/v1/decisions?**', async (route) => {
        const url = new URL(route.request().url());
        if (!url.searchParams.has('cursor')) round += 1;
        calls += 1;
        const items = Array.from({ length: 100 }, (_, at) => madeUp(calls * 100 + at));
        const now = new Date().toISOString();
        await route.fulfill({ json: { data: { from: now, to: now, items, nextCursor: 'more' } } });
      }),
  });
  await until('three rounds were asked', () => round >= 3);
  await shows(page, 500);
  expect(calls / round).toBeLessThanOrEqual(10);
});

test('older decisions follow the ones that were shown, also while new ones come', async () => {
  let rounds = 0;
  const { page } = await open('activity', {
    answers: (of) =>
      of.route('**/manage/v1/decisions?**', async (route) => {
        const cursor = new URL(route.request().url()).searchParams.get('cursor');
        if (cursor === null) rounds += 1;
        // Each round has 50 newer ones than the last, which come before those that were on the first page.
        const highest = Number(cursor ?? 50 + 50 * rounds);
        const items = Array.from({ length: 50 }, (_, at) => madeUp(highest - at));
        const nextCursor = highest > 50 ? String(highest - 50) : null;
        const now = new Date().toISOString();
        await route.fulfill({ json: { data: { from: now, to: now, items, nextCursor } } });
      }),
  });
  await shows(page, 50);
  await page.getByRole('button', { name: 'Show older ones' }).click();
  await shows(page, 100);
  const before = rounds;
  await until('the page has asked again', () => rounds > before);
  await page.waitForLoadState('networkidle');
  const ids = await rows(page)
    .getByRole('link')
    .evaluateAll((all) => all.map((each) => each.getAttribute('href') ?? ''));
  const numbers = ids.filter((href) => href.includes('/activity/')).map((href) => Number(href.slice(-4)));
  expect(numbers.map((number, at) => (numbers[at - 1] ?? number + 1) - number)).toEqual(numbers.map(() => 1));
});

test('what is shown is saved as CSV: amounts to the last digit, and no text that a spreadsheet would run', async () => {
  await ask({ 'x-request-id': "=cmd|'/C" });
  const { page, faults } = await open('activity?verdict=sponsored');
  await rows(page).first().waitFor();
  const saved = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Save as CSV' }).click();
  const file = await saved;
  expect(file.suggestedFilename()).toBe('decisions.csv');
  const text = readFileSync(await file.path(), 'utf8');
  const [head = [], ...lines] = text.trim().split('\r\n').map(fieldsOf);
  const column = (line: readonly string[], name: string) => line[head.indexOf(name)] ?? '';
  expect(new Set(lines.map((line) => column(line, 'verdict')))).toEqual(new Set(['sponsored']));
  for (const line of lines) {
    expect(column(line, 'maxCostWei')).toMatch(/^[1-9]\d{9,}$/);
    const [whole = '', fraction = ''] = column(line, 'maxCost').split('.');
    expect(BigInt(whole + fraction.padEnd(18, '0'))).toBe(BigInt(column(line, 'maxCostWei')));
  }
  expect(lines.map((line) => column(line, 'callerRequestId'))).toContain("'=cmd|'/C");
  expect(lines.flat().filter((each) => /^[=+@\t]/.test(each))).toEqual([]);
  expect(faults).toEqual([]);
});

/** Of a line without line breaks in its texts. */
function fieldsOf(line: string): readonly string[] {
  const quoted = /^"(.*)"$/;
  return [...line.matchAll(/(?:^|,)("(?:[^"]|"")*"|[^,]*)/g)].map(([, field = '']) =>
    quoted.test(field) ? field.slice(1, -1).replaceAll('""', '"') : field,
  );
}

function madeUp(number: number): object {
  const id = `019b76da-a800-7000-8000-${String(number).padStart(12, '0')}`;
  const none = { reason: null, maxCost: null, settlement: null };
  const sender = `0x${'11'.repeat(20)}`;
  return {
    ...none,
    id,
    at: new Date().toISOString(),
    verdict: 'sponsored',
    calls: [],
    sender,
    paymasterId: id,
  };
}
