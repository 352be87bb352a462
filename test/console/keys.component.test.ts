import { expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { rpc, rpcUrlFor, freshUserOp } from '../system/support/client.js';
import { until } from '../support/until.js';
import { contrastsOf, cutIn, violationsOf } from './support/browser.js';
import { agree, useConsole } from './support/console.js';
import { choose, press, sees, write } from './support/keyboard.js';

// Keys of a paymaster by name: added, shown once, replaced and revoked, each alone.

const { connection, open, visit } = useConsole('keys-by-name');
const tab = 'paymaster/shop?tab=keys';

const manage = (path: string, authToken = connection().authToken, init: RequestInit = {}) =>
  fetch(`${connection().dashboardUrl}/manage/v1/${path}`, {
    ...init,
    headers: { authToken, 'content-type': 'application/json' },
  });
const shownUrl = (page: Page) =>
  page
    .getByRole('region', { name: /^The new key/ })
    .locator('pre')
    .first();

/** Whether the JSON-RPC server takes the address that the page showed. */
async function isAccepted(url: string): Promise<boolean> {
  return (await rpc(url.trim(), 'pm_supportedEntryPoints', [])).error === undefined;
}

async function aTokenWith(scopes: readonly string[]): Promise<string> {
  const body = JSON.stringify({ name: `keys-${scopes.join('-')}`, scopes });
  const answer = await manage('tokens', undefined, { method: 'POST', body });
  return ((await answer.json()) as { data: { token: string } }).data.token;
}

test('a key is added with restrictions, shown once with code, replaced in three clicks, and revoked, while the others go on', async () => {
  const { page, faults } = await open(tab, { colorScheme: 'light' });
  await page.getByText('No key has a name yet.').waitFor();
  await page.getByText('Add a key', { exact: true }).click();
  for (const [name, text] of [
    ['Name, e.g. web or partner-a', 'partner-a'],
    ['Expires (left empty: never)', '2040-01-31T12:00'],
    ['Networks (left empty: all), e.g. 203.0.113.0/24', '127.0.0.0/8, ::1/128'],
    ['Most requests (left empty: no limit)', '100'],
  ] as const)
    await page.getByLabel(name).fill(text);
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('“partner-a” is added: it is accepted within a second').waitFor();
  const first = await shownUrl(page).innerText();
  await until('the key is accepted', () => isAccepted(first));
  await page.getByLabel('Code for').selectOption('viem');
  expect(await page.getByLabel('code for viem', { exact: true }).innerText()).toContain(first.trim());
  const row = page.getByRole('row', { name: /^partner-a/ });
  expect(await row.textContent()).toMatch(
    /^partner-a12040-01-31.*127\.0\.0\.0\/8, ::1\/128100 a minuteany[0-9a-f]{8}/,
  );
  expect(await violationsOf(page)).toEqual([]);
  expect(await contrastsOf(page, 'dark')).toEqual([]);
  expect(await cutIn(page, { width: 390, height: 844 })).toEqual([]);
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.getByRole('button', { name: 'I have copied it' }).click();
  await shownUrl(page).waitFor({ state: 'detached' });
  await page.reload();
  await row.waitFor();
  const secret = first.trim().split('/').at(-1) ?? '';
  expect(await page.content()).not.toContain(secret);
  expect(
    await page.evaluate(() => location.href + JSON.stringify([localStorage.length, document.title])),
  ).not.toContain(secret);

  // From the list of paymasters: its row, the tab, the button, the answer.
  await page.goto(`${connection().dashboardUrl}/console/#/paymaster`);
  await page.getByRole('link', { name: 'shop', exact: true }).click();
  await page.getByRole('link', { name: 'Keys', exact: true }).click();
  await page.getByRole('button', { name: 'Replace partner-a' }).click();
  await agree(page, 'Replace');
  await page.getByText('“partner-a” has a new key: the one before is refused within a second').waitFor();
  const second = await shownUrl(page).innerText();
  await until('the one before is refused', async () => !(await isAccepted(first)));
  expect(await isAccepted(second)).toBe(true);
  // What was said about it stays.
  await page.getByRole('row', { name: /^partner-a 2 / }).waitFor();
  expect(await row.textContent()).toMatch(/^partner-a22040-01-31.*127\.0\.0\.0\/8, ::1\/128100 a minute/);

  await page.getByRole('button', { name: 'Revoke partner-a' }).click();
  await page.getByRole('alertdialog').getByText('What uses it is refused, for good.').waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await agree(page, 'Revoke');
  await page.getByText('“partner-a” is revoked: it is refused within a second').waitFor();
  await shownUrl(page).waitFor({ state: 'detached' });
  await until('it is refused', async () => !(await isAccepted(second)));
  expect(await isAccepted(connection().rpcUrl)).toBe(true);
  expect(faults).toEqual([]);
});

test('by keyboard a key is added, replaced and revoked', async () => {
  const { page, faults } = await open(tab);
  for (const stroke of [
    press('Add a key'),
    write('Name, e.g. web or partner-a', 'web'),
    choose('In', 'a sec'),
    press('Save'),
    sees('“web” is added'),
    press('I have copied it'),
  ])
    await stroke(page);
  const agreed = [
    press('Replace web'),
    press('Replace'),
    sees('“web” has a new key'),
    press('Copy JSON-RPC address'),
  ];
  for (const stroke of agreed) await stroke(page);
  for (const stroke of [press('Revoke web'), press('Revoke'), sees('“web” is revoked')]) await stroke(page);
  const { data } = (await (await manage('paymasters/shop/keys')).json()) as {
    data: { items: { name: string }[] };
  };
  expect(data.items.map(({ name }) => name)).not.toContain('web');
  expect(faults).toEqual([]);
});

test('a key is not replaced over what somebody else has changed meanwhile', async () => {
  const add = (name: string) =>
    manage('paymasters/shop/keys', undefined, { method: 'POST', body: JSON.stringify({ name }) });
  await add('contested');
  const { page } = await open(tab, {
    answers: (of) =>
      of.route('**/manage/v1/paymasters/shop', async (route) => {
        if (route.request().method() === 'PATCH') await add('between');
        await route.continue();
      }),
  });
  await page.getByRole('button', { name: 'Replace contested' }).click();
  await agree(page, 'Replace');
  await page.getByRole('alert').getByText('If-Match').waitFor();
  expect(await shownUrl(page).count()).toBe(0);
  const { data } = (await (await manage('paymasters/shop/keys')).json()) as {
    data: { items: { name: string; generation: number }[] };
  };
  const generations = new Map(data.items.map(({ name, generation }) => [name, generation]));
  expect(generations.has('between')).toBe(true);
  await page.reload();
  await page.getByRole('row', { name: new RegExp(`^contested ${generations.get('contested')} `) }).waitFor();
});

test('what a key asked for is one click away', async () => {
  const body = JSON.stringify({ name: 'shown' });
  const made = await manage('paymasters/shop/keys', undefined, { method: 'POST', body });
  const { key } = ((await made.json()) as { data: { key: string } }).data;
  const mode = { mode: 'SPONSORED', calculateGasLimits: false };
  const asked = [freshUserOp(connection()), freshUserOp(connection())];
  await rpc(rpcUrlFor(connection(), key), 'pm_sponsorUserOperation', [asked[0], mode]);
  await rpc(connection().rpcUrl, 'pm_sponsorUserOperation', [asked[1], mode]);
  const { page } = await open(tab);
  await page.getByRole('link', { name: 'Activity of shown' }).click();
  await page.getByRole('heading', { name: 'Activity' }).waitFor();
  const rows = page.getByRole('table', { name: 'Decisions' }).locator('tbody tr');
  await rows.first().waitFor();
  expect(await rows.count()).toBe(1);
  expect(await page.getByRole('combobox', { name: 'Key', exact: true }).inputValue()).toBe('shown');
});

test('markup in a name is refused at its field, and shown as text where a server answers it', async () => {
  const evil = `<img src=x onerror="document.title='run'">`;
  const { page, faults } = await open(tab);
  await page.getByText('Add a key', { exact: true }).click();
  const field = page.getByLabel('Name, e.g. web or partner-a');
  await field.fill(evil);
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText(/Must be a name: letters, digits/).waitFor();
  expect(await field.getAttribute('aria-invalid')).toBe('true');

  const one = {
    name: evil,
    generation: 1,
    expiresAt: null,
    cidrs: [evil],
    rateLimit: null,
    campaign: evil,
    fingerprint: evil,
  };
  const { page: other } = await open(tab, {
    answers: (of) =>
      of.route('**/manage/v1/paymasters/shop/keys', (route) =>
        route.fulfill({ json: { data: { items: [one], nextCursor: null } } }),
      ),
  });
  await other.getByRole('button', { name: `Revoke ${evil}` }).waitFor();
  expect(await other.title()).not.toBe('run');
  expect(await other.locator('main img').count()).toBe(0);
  expect(faults.filter((fault) => !fault.includes('400'))).toEqual([]);
});

test.each([
  { scopes: ['stop'], sees: false },
  { scopes: ['finance'], sees: false },
  { scopes: ['read'], sees: true },
])('a token with $scopes sees names of keys: $sees, and no key', async ({ scopes, sees: isShown }) => {
  await manage('paymasters/shop/keys', undefined, {
    method: 'POST',
    body: JSON.stringify({ name: 'hidden' }),
  });
  const token = await aTokenWith(scopes);
  const { page, close } = await visit();
  const asked: string[] = [];
  page.on('request', (request) => asked.push(new URL(request.url()).pathname));
  await page.goto(`${connection().dashboardUrl}/console/`);
  await page.getByLabel('Token').fill(token);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  await page.goto(`${connection().dashboardUrl}/console/#/${tab}`);
  if (isShown) await page.getByRole('row', { name: /^hidden/ }).waitFor();
  else
    await page
      .getByText(/^(Paymasters of this organisation|This page needs a token)/)
      .first()
      .waitFor();
  await page.waitForLoadState('networkidle');
  const secrets = asked.filter((path) => /\/keys?(\/|$)/.test(path));
  expect(new Set(secrets)).toEqual(new Set(isShown ? ['/manage/v1/paymasters/shop/keys'] : []));
  for (const name of ['Add a key', 'Replace hidden', 'Revoke hidden'])
    expect(await page.getByText(name).or(page.getByRole('button', { name })).count()).toBe(0);
  // Neither does the API tell it.
  const statusOf = async (path: string, method = 'GET') => (await manage(path, token, { method })).status;
  expect([
    await statusOf('paymasters/shop/keys'),
    await statusOf('paymasters/shop/keys/hidden'),
    await statusOf('paymasters/shop/keys/hidden', 'DELETE'),
  ]).toEqual([isShown ? 200 : 403, 403, 403]);
  await close();
});
