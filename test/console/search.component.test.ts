import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { until } from '../support/until.js';
import { contrastsOf, cutIn, violationsOf } from './support/browser.js';
import { useConsole } from './support/console.js';
import { askForThree } from './support/three-operations.js';

// One search over everything that the token may read, by mouse and by keyboard.

const { connection, open, visit } = useConsole('search');
type Asked = { readonly id: string; readonly sender: string; readonly verdict: string };
let decisions: readonly Asked[];

const manage = (path: string, init: RequestInit = {}) =>
  fetch(`${connection().dashboardUrl}/manage/v1/${path}`, {
    ...init,
    headers: { authToken: connection().authToken, 'content-type': 'application/json' },
  });

beforeAll(async () => {
  await askForThree(connection());
  const { data } = (await (await manage('decisions')).json()) as { data: { items: readonly Asked[] } };
  decisions = data.items;
});

const dialog = (page: Page) => page.getByRole('dialog', { name: 'Search' });
const options = (page: Page) => dialog(page).getByRole('option');
const field = (page: Page) => dialog(page).getByRole('combobox');

/** Opens it by keyboard, once there is somebody whom it could answer. */
async function opened(page: Page, keys = 'Control+k'): Promise<void> {
  await page.getByRole('button', { name: /^Search/ }).waitFor();
  await page.keyboard.press(keys);
  await dialog(page).waitFor();
}

async function finds(page: Page, text: string, ...want: readonly (string | RegExp)[]): Promise<void> {
  await field(page).fill(text);
  for (const each of want) await options(page).filter({ hasText: each }).first().waitFor();
}

let tokens = 0;

async function signedIn(scopes: readonly string[]) {
  tokens += 1;
  const body = JSON.stringify({ name: `search-${tokens}`, scopes });
  const made = await manage('tokens', { method: 'POST', body });
  const { token } = ((await made.json()) as { data: { token: string } }).data;
  const visited = await visit();
  const { page } = visited;
  await page.goto(`${connection().dashboardUrl}/console/`);
  await page.getByLabel('Token').fill(token);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  return visited;
}

test('by mouse: the button opens it, what is found leads to its page, and a press beside it closes it', async () => {
  const { page, faults } = await open('overview', { colorScheme: 'light' });
  await page.getByRole('button', { name: /^Search/ }).click();
  await finds(page, 'count', /^Contract counter shop$/);
  await finds(page, 'operations per', /^Policy operations per day/);
  await finds(page, 'SHOP', /^Paymaster shop chain \d+$/);
  expect(await violationsOf(page)).toEqual([]);
  expect(await contrastsOf(page, 'dark')).toEqual([]);
  for (const viewport of [
    { width: 640, height: 450 },
    { width: 390, height: 844 },
  ])
    expect(await cutIn(page, viewport)).toEqual([]);
  await page.setViewportSize({ width: 1280, height: 900 });
  await options(page)
    .filter({ hasText: /^Paymaster shop/ })
    .click();
  await page.getByRole('heading', { name: 'shop' }).waitFor();
  await dialog(page).waitFor({ state: 'detached' });

  await page.getByRole('button', { name: /^Search/ }).click();
  await finds(page, connection().sponsoredContract.address.toLowerCase(), /^Contract counter/);
  await options(page)
    .filter({ hasText: /^Contract/ })
    .click();
  await page.getByText('Change “counter”').waitFor();
  await page.getByRole('button', { name: /^Search/ }).click();
  await dialog(page).waitFor();
  await page.mouse.click(4, 4);
  await dialog(page).waitFor({ state: 'detached' });
  expect(faults).toEqual([]);
});

test.each(['Control+k', 'Meta+k'])(
  'by keyboard alone: %s opens it, arrows and Enter lead on, Escape gives the focus back',
  async (keys) => {
    const { page, faults } = await open('activity');
    const before = page.getByRole('combobox', { name: 'Verdict' });
    await before.focus();
    await opened(page, keys);
    expect(await field(page).evaluate((it) => it === document.activeElement)).toBe(true);
    // Nothing behind it can be reached.
    for (let presses = 0; presses < 12; presses += 1) {
      await page.keyboard.press('Tab');
      const outside = await page.evaluate(
        () => document.activeElement?.closest('dialog') === null && document.activeElement !== document.body,
      );
      expect(outside).toBe(false);
    }
    await page.keyboard.press('Escape');
    await dialog(page).waitFor({ state: 'detached' });
    expect(await before.evaluate((it) => it === document.activeElement)).toBe(true);

    await opened(page, keys);
    await page.keyboard.type('us');
    await options(page).filter({ hasText: 'Page Usage' }).waitFor();
    await options(page)
      .filter({ hasText: /^Policy/ })
      .first()
      .waitFor();
    const chosen = async () => (await dialog(page).locator('[aria-selected=true]').textContent()) ?? '';
    const first = await chosen();
    await page.keyboard.press('ArrowDown');
    expect(await chosen()).not.toBe(first);
    const id = await field(page).getAttribute('aria-activedescendant');
    expect(await page.locator(`[id="${id}"]`).textContent()).toBe(await chosen());
    await page.keyboard.press('ArrowUp');
    expect(await chosen()).toBe(first);
    await field(page).fill('usage');
    await until('the page comes first', async () => /^PageUsage|^Page Usage/.test(await chosen()));
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Usage', level: 1 }).waitFor();
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('MAIN');
    expect(faults).toEqual([]);
  },
);

test('a decision id and an operation hash lead to the decision, an address and another text to the list', async () => {
  const hash = `0x${'ab'.repeat(32)}`;
  const [one] = decisions;
  const { page } = await open('overview', {
    // What is mined has a hash, and nothing of this organisation is.
    answers: (of) =>
      of.route(`**/manage/v1/decisions?userOpHash=${hash}**`, async (route) => {
        const { data } = (await (await manage('decisions')).json()) as { data: { items: unknown[] } };
        await route.fulfill({ json: { data: { items: data.items.slice(0, 1), nextCursor: null } } });
      }),
  });
  for (const text of [String(one?.id), hash]) {
    await opened(page);
    await finds(page, text, /^Operation/);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'One decision' }).waitFor();
    expect(page.url()).toContain(`#/activity/${one?.id}`);
  }
  for (const text of [String(one?.sender), 'req-of-somebody']) {
    await opened(page);
    await finds(page, text, text);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Activity' }).waitFor();
    expect(decodeURIComponent(page.url())).toContain(`search=${text}`);
  }
});

test('a name that is typed before names have come is not taken for the id of a request', async () => {
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  const { page } = await open('overview', {
    answers: (of) =>
      of.route('**/manage/v1/policies?**', async (route) => {
        await released;
        await route.continue();
      }),
  });
  await opened(page);
  await field(page).fill('shop');
  await page.keyboard.press('Enter');
  expect(await dialog(page).getByRole('status').textContent()).toBe('Loading…');
  release();
  await options(page)
    .filter({ hasText: /^Paymaster shop/ })
    .waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'shop', level: 1 }).waitFor();
});

test('the key that opens it works right after a result was chosen', async () => {
  const { page } = await open('overview');
  await opened(page);
  await finds(page, 'shop', /^Paymaster shop/);
  // Both keys are handled before the close is reported, as in a busy browser.
  await field(page).evaluate(async (input) => {
    const key = (init: KeyboardEventInit) => new KeyboardEvent('keydown', { ...init, bubbles: true });
    input.dispatchEvent(key({ key: 'Enter' }));
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
    document.body.dispatchEvent(key({ key: 'k', ctrlKey: true }));
  });
  await page.getByRole('heading', { name: 'shop', level: 1 }).waitFor();
  await finds(page, 'counter', 'counter');
});

test('a name with markup is shown as it is, and odd texts find nothing', async () => {
  const evil = `<img src=x onerror="document.title='run'">`;
  const spec = { name: evil, chainId: connection().chainId, type: 'HYBRID', version: '1.1.0' };
  const made = await manage('paymasters', { method: 'POST', body: JSON.stringify({ name: 'evil', spec }) });
  expect(made.status).toBe(201);
  const { page, faults } = await open('overview');
  await opened(page);
  await finds(page, '<img', evil);
  for (const text of ['%', '.*', '__proto__', 'constructor', '\\', `${'a'.repeat(199)}b`]) {
    await field(page).fill(text);
    await until('it has looked', async () => (await options(page).filter({ hasText: 'shop' }).count()) === 0);
  }
  expect(await page.title()).not.toBe('run');
  expect(await page.locator('dialog img').count()).toBe(0);
  expect(faults).toEqual([]);
});

test('of 10,000 policies a few are shown, with how many more there are', async () => {
  const { page } = await open('overview', {
    answers: (of) =>
      of.route('**/manage/v1/policies?**', async (route) => {
        const from = Number(new URL(route.request().url()).searchParams.get('cursor') ?? 0);
        const items = Array.from({ length: 500 }, (_, at) => aPolicy(from + at));
        const next = from + 500;
        const nextCursor = next < 10_000 ? String(next) : null;
        await route.fulfill({ json: { data: { items, nextCursor } } });
      }),
  });
  await opened(page);
  await finds(page, 'rule of a tenant', 'rule of a tenant 0');
  await dialog(page).getByText('and 9994 more').waitFor();
  expect(
    await options(page)
      .filter({ hasText: /^Policy/ })
      .count(),
  ).toBe(6);
  await finds(page, 'rule of a tenant 9999', 'rule of a tenant 9999');
});

describe.each([
  {
    scopes: ['read'],
    pages: ['Activity', 'What-if'],
    finds: ['Paymaster shop', 'Contract counter', 'Policy'],
  },
  { scopes: ['stop'], pages: ['Problems', 'Paymasters'], finds: ['Paymaster shop'] },
  { scopes: ['finance'], pages: ['Overview', 'Usage'], finds: ['Paymaster shop'] },
])('a token with $scopes', ({ scopes, pages, finds: known }) => {
  test('finds what it may read, and asks for nothing else', async () => {
    const { page, faults, close } = await signedIn(scopes);
    const asked: string[] = [];
    const refused: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    page.on('response', (response) => response.status() >= 400 && refused.push(response.url()));
    await opened(page);
    await dialog(page).getByText('found').waitFor();
    const mayRead = scopes.includes('read');
    const seen: string[] = [];
    const texts = ['', ...pages, 'counter', 'operations per', 'shop', connection().sponsoredContract.address];
    for (const text of [
      ...texts,
      String(decisions[0]?.id),
      `0x${'ab'.repeat(32)}`,
      String(decisions[0]?.sender),
    ]) {
      await field(page).fill(text);
      await page.waitForLoadState('networkidle');
      seen.push(
        ...(await options(page).allTextContents()).map((each) => each.replace(/(?<=[a-z])(?=[A-Z])/, ' ')),
      );
    }
    for (const each of known) expect(seen.some((one) => one.startsWith(each))).toBe(true);
    for (const each of pages) expect(seen).toContain(`Page ${each} `);
    const secret = /^(Contract|Policy|Operation|Account|Request)/;
    if (!mayRead) {
      expect(seen.filter((each) => secret.test(each))).toEqual([]);
      expect(asked.filter((path) => /contracts|policies|decisions/.test(path))).toEqual([]);
    }
    expect({ refused, faults }).toEqual({ refused: [], faults: [] });
    // What it leads to is a page that the token may see.
    await field(page).fill('shop');
    await options(page).filter({ hasText: 'shop' }).first().click();
    await dialog(page).waitFor({ state: 'detached' });
    expect(await page.getByText('This page needs a token').count()).toBe(0);
    await close();
  });
});

test('after signing out no result is left, and the keys open nothing', async () => {
  const { page, close } = await signedIn(['read']);
  await opened(page);
  await finds(page, 'counter', 'Contract');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('Token').waitFor();
  await page.keyboard.press('Control+k');
  expect(await dialog(page).count()).toBe(0);
  expect(await page.content()).not.toContain('counter');
  await close();
});

function aPolicy(number: number): object {
  const name = `rule-${number}`;
  const spec = { name: `rule of a tenant ${number}`, policyType: 'WINDOW', paymasterRef: { name: 'shop' } };
  return { name, id: name, spec, createdBy: 'manifests', status: {} };
}
