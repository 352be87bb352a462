import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { anAbi } from '../build/resources.js';
import { until } from '../support/until.js';
import { freshUserOp } from '../system/support/client.js';
import { contrastsOf, desktop, violationsOf } from './support/browser.js';
import { useConsole } from './support/console.js';
import { press, sees } from './support/keyboard.js';

// What the console asks before it acts, how a failure looks, and where somebody reads what is wrong with what he typed.

const { connection, open } = useConsole('outcomes');
const host = createServer((_request, response) => response.writeHead(500).end());
beforeAll(async () => {
  host.unref();
  await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve));
  const { port } = host.address() as AddressInfo;
  await write('policies', 'members', {
    paymasterRef: { name: 'shop' },
    name: 'members',
    policyType: 'WEBHOOK',
    webhook: { url: `http://127.0.0.1:${port}/` },
  });
  await write('policies', 'lenient', {
    paymasterRef: { name: 'shop' },
    name: 'lenient',
    policyType: 'WEBHOOK',
    webhook: { url: `http://127.0.0.1:${port}/`, onError: 'Allow' },
  });
  await write('tokens', 'robot', undefined, { scopes: ['read'] });
});
afterAll(() => {
  host.closeAllConnections();
  host.close();
});

async function write(noun: string, name: string, spec?: object, more: object = {}): Promise<void> {
  const { dashboardUrl, authToken } = connection();
  const response = await fetch(`${dashboardUrl}/manage/v1/${noun}`, {
    method: 'POST',
    headers: { authToken, 'content-type': 'application/json' },
    body: JSON.stringify({ name, ...(spec && { spec }), ...more }),
  });
  if (!response.ok) throw new Error(await response.text());
}

/** What the page sends besides questions. */
function changesOf(page: Page): readonly string[] {
  const sent: string[] = [];
  page.on('request', (request) => {
    const { pathname } = new URL(request.url());
    if (request.method() !== 'GET' && pathname.startsWith('/manage/')) sent.push(pathname);
  });
  return sent;
}

const inView = (element: Locator): Promise<boolean> =>
  element.evaluate((each) => {
    const { top, bottom } = each.getBoundingClientRect();
    return top >= 0 && bottom <= innerHeight;
  });

const isFocused = (element: Locator): Promise<boolean> =>
  element.evaluate((each) => each === document.activeElement);

describe.each([
  {
    at: 'paymaster/shop',
    name: 'Suspend shop (chain 31337)',
    agreed: 'Suspend',
    says: /It sponsors nothing until it is resumed/,
  },
  { at: 'paymaster/shop', name: 'Pause members', agreed: 'Pause', says: /what it refuses now is paid for/ },
  { at: 'tokens', name: 'Revoke robot', agreed: 'Revoke', says: /What uses it is refused at once/ },
])('$name', ({ at, name, agreed, says }) => {
  test('asks, saying what will happen, and does nothing unless somebody agrees', async () => {
    const { page, faults } = await open(at);
    const sent = changesOf(page);
    const button = page.getByRole('button', { name });
    const dialog = page.getByRole('alertdialog');
    await press(name)(page);
    await dialog.getByText(says).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    expect(await contrastsOf(page, 'dark')).toEqual([]);
    // Enter on what has the focus first does no harm.
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'detached' });
    expect(await isFocused(button)).toBe(true);
    await page.keyboard.press('Enter');
    await dialog.waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    expect(await isFocused(button)).toBe(true);
    await button.click();
    await dialog.waitFor();
    await page.evaluate(() => (location.hash = '#/changes'));
    await dialog.waitFor({ state: 'detached' });
    expect(sent).toEqual([]);
    await page.goBack();
    await press(name)(page);
    await press(agreed)(page);
    await page
      .locator('.note')
      .filter({ hasText: /suspended|paused|revoked/ })
      .waitFor();
    expect(sent).toHaveLength(1);
    expect(faults).toEqual([]);
  });
});

test('resuming a paymaster asks, too', async () => {
  const { page } = await open('paymaster/shop');
  await press('Resume shop (chain 31337)')(page);
  await sees('It sponsors again, within its policies and limits.')(page);
  await press('Resume')(page);
  await sees('“shop” sponsors again.')(page);
});

test.each(['members', 'lenient'])('a test of the webhook %s that fails looks as a failure', async (name) => {
  const { page } = await open('paymaster/shop');
  await page.getByRole('button', { name: `Send a test to ${name}` }).click();
  const note = page.locator('.note', { hasText: `“${name}” failed after` });
  await note.waitFor();
  expect(await note.getAttribute('class')).toBe('note error');
  expect(await note.getAttribute('role')).toBe('alert');
});

test('an operation that would be refused looks as a refusal', async () => {
  const { page } = await open('playground');
  await page
    .getByRole('textbox')
    .fill(JSON.stringify({ ...freshUserOp(connection()), callData: '0xffffffff' }));
  await page.getByRole('button', { name: 'Explain' }).click();
  const note = page.getByRole('alert').filter({ hasText: 'It would be refused' });
  await note.waitFor();
  expect(await inView(note)).toBe(true);
});

type Mistake = {
  readonly form: string;
  readonly at: string;
  readonly kind?: string;
  readonly fill: Readonly<Record<string, string>>;
  /** Label of the control that is wrong. */
  readonly wrong: string;
  readonly says: RegExp;
};

const abi = { 'ABI, as JSON': anAbi };
const address = '0x00000000000000000000000000000000000000C1';
const mistakes: readonly Mistake[] = [
  {
    form: 'Create a paymaster',
    at: 'paymaster',
    fill: { Name: 'Other', 'Chain id': '999' },
    wrong: 'Chain id',
    says: /^Must be a chain that is offered, got 999$/,
  },
  {
    form: 'Create a paymaster',
    at: 'paymaster',
    fill: { Name: 'Other', 'Version of the paymaster contract': '9.9' },
    wrong: 'Version of the paymaster contract',
    says: /^Must be one of .*, got "9.9"$/,
  },
  {
    form: 'Register a contract',
    at: 'paymaster/shop?tab=contracts',
    fill: { Name: 'counter', Address: address, ...abi },
    wrong: 'Name',
    says: /^Must be free, and the contract "shop-counter" has it$/,
  },
  {
    form: 'Register a contract',
    at: 'paymaster/shop?tab=contracts',
    fill: { Name: 'other', Address: address, 'ABI, as JSON': '{' },
    wrong: 'ABI, as JSON',
    says: /^Must be /,
  },
  {
    form: 'Set a limit',
    at: 'paymaster/shop',
    fill: { Name: 'x'.repeat(300), 'At most': '1' },
    wrong: 'Name',
    says: /^Must be .* characters/,
  },
  {
    form: 'Set a limit',
    at: 'paymaster/shop',
    fill: { Name: 'half', 'At most': '0.5' },
    wrong: 'At most',
    says: /^Must be a whole number/,
  },
  {
    form: 'Set a limit',
    at: 'paymaster/shop',
    fill: { Name: 'often', 'At most': '1', 'How many days': '99999' },
    wrong: 'How many days',
    says: /^Must be a whole number from 1 to/,
  },
  {
    form: 'Change “operations per day”',
    at: 'paymaster/shop?change=shop-operations-per-day',
    fill: { 'New threshold': '5' },
    wrong: 'New threshold',
    says: /^Must be changed by its owner "manifests"$/,
  },
  {
    form: 'Add a rule of another kind',
    at: 'paymaster/shop',
    kind: 'Webhook',
    fill: { Name: 'local', URL: 'http://10.0.0.1/' },
    wrong: 'URL',
    says: /^Must be /,
  },
  {
    form: 'Change “members”',
    at: 'paymaster/shop?change=members',
    fill: { URL: 'http://10.0.0.1/' },
    wrong: 'URL',
    says: /^Must be /,
  },
  {
    form: 'Change it by a signature from elsewhere',
    at: 'paymaster/shop?tab=money',
    fill: { 'Address of the wallet': address, Signature: '0x00' },
    wrong: 'Signature',
    says: /^Must be /,
  },
  {
    form: 'Make a token',
    at: 'tokens',
    fill: { Name: 'robot-2' },
    wrong: 'It may',
    says: /^Choose at least one.$/,
  },
  {
    form: 'Build one',
    at: 'playground',
    fill: { 'Account that calls': address, 'rounds: uint256': 'many' },
    wrong: 'rounds: uint256',
    says: /^Must be of type uint256, got many/,
  },
];

test.each(mistakes)(
  '$form: what is wrong with “$wrong” is said at it, in view, and aloud: $says',
  async ({ form: title, at, kind, fill, wrong, says }) => {
    const { page } = await open(at, { viewport: { ...desktop, height: 500 } });
    const form = page.locator('details', { hasText: title });
    // One that the address names is open.
    if (!at.includes('change=')) await form.locator('summary').click();
    else await form.waitFor();
    await page.getByText('Loading…').first().waitFor({ state: 'detached' });
    if (kind !== undefined) await form.getByLabel('Kind').selectOption(kind);
    if (title === 'Build one')
      await page.getByLabel('Method').selectOption({ label: 'burn(uint256): not paid for' });
    for (const [label, value] of Object.entries(fill)) await form.getByLabel(label).first().fill(value);
    await form.locator('button.main').click();
    const fault = form.locator('.fault');
    await fault.waitFor();
    expect(await fault.textContent()).toMatch(says);
    await until('it is in view', () => inView(fault));
    expect(await form.getByRole('alert').count()).toBe(1);
    const legend = form.getByRole('group', { name: wrong });
    if ((await legend.count()) > 0) await until('it has the focus', () => isFocused(fault));
    else {
      const control = form.getByLabel(wrong).first();
      await until('it has the focus', () => isFocused(control));
      expect(await control.getAttribute('aria-invalid')).toBe('true');
      expect(await control.getAttribute('aria-describedby')).toBe(await fault.getAttribute('id'));
    }
    expect(await violationsOf(page)).toEqual([]);
    expect(await contrastsOf(page, 'dark')).toEqual([]);
  },
);

test.each([
  { at: 'what-if', text: 'kind: Nothing', button: 'Ask', says: /kind/ },
  { at: 'playground', text: '{', button: 'Explain', says: /This is not JSON/ },
])('what is wrong with the text of $at is said at it, in view', async ({ at, text, button, says }) => {
  const { page } = await open(at, { viewport: { ...desktop, height: 500 } });
  const area = page.getByRole('textbox').first();
  await area.fill(text);
  await page.getByRole('button', { name: button, exact: true }).click();
  const fault = page.getByRole('alert');
  await fault.waitFor();
  expect(await fault.textContent()).toMatch(says);
  expect(await area.getAttribute('aria-describedby')).toBe(await fault.getAttribute('id'));
  await until('it has the focus', () => isFocused(area));
  expect(await inView(fault)).toBe(true);
});

test('what a form could not do at all is said below its button, in view', async () => {
  const { page } = await open('paymaster/shop', {
    viewport: { ...desktop, height: 500 },
    answers: (on) =>
      on.route('**/manage/v1/policies', (route) =>
        route.request().method() === 'POST'
          ? route.fulfill({ status: 503, json: { detail: 'Try again.' } })
          : route.continue(),
      ),
  });
  const form = page.locator('details', { hasText: 'Set a limit' });
  await form.locator('summary').click();
  await form.getByLabel('Name').fill('a day');
  await form.getByLabel('At most').fill('1');
  await form.getByRole('button', { name: 'Save' }).click();
  const note = form.getByRole('alert').filter({ hasText: 'Try again.' });
  await note.waitFor();
  expect(await inView(note)).toBe(true);
});
