import { beforeAll, expect, test } from '@jest/globals';
import { anAbi } from '../build/resources.js';
import { until } from '../support/until.js';
import { contrastsOf, desktop, inView, isFocused, violationsOf } from './support/browser.js';
import { useConsole } from './support/console.js';
import { press, sees } from './support/keyboard.js';

// Where somebody reads what is wrong with what he typed.

const { connection, create, open } = useConsole('mistakes');
beforeAll(() =>
  create('policies', 'members', {
    paymasterRef: { name: 'shop' },
    name: 'members',
    policyType: 'WEBHOOK',
    webhook: { url: 'http://127.0.0.1:9/' },
  }),
);

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
      const notes = (await control.getAttribute('aria-describedby'))?.split(' ');
      expect(notes).toContain(await fault.getAttribute('id'));
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

test('a field that a manifest has says so before anybody sends it, and one that it leaves out does not', async () => {
  const { page, faults } = await open('paymaster/shop');
  await page.getByText('Managed by manifests: what its manifest has is changed there.').waitFor();
  await press('Change operations per day')(page);
  await sees('Made by manifests, managed by manifests')(page);
  const form = page.locator('details', { hasText: 'Change “operations per day”' });
  const said = (label: string): Promise<string> =>
    form
      .getByLabel(label)
      .first()
      .evaluate((control) =>
        (control.getAttribute('aria-describedby') ?? '')
          .split(' ')
          .map((id) => document.getElementById(id)?.textContent ?? '')
          .join(' '),
      );
  expect(await said('New threshold')).toBe('Managed by manifests');
  expect(await said('Begins again')).toBe('Managed by manifests');
  expect(await said('What does not fit')).toBe('');
  await page.goto(`${connection().dashboardUrl}/console/#/paymaster/shop?tab=contracts`);
  await page.getByRole('button', { name: 'Change counter' }).click();
  await page.getByRole('group', { name: 'Methods to pay for' }).getByText('Managed by manifests').waitFor();
  expect(await violationsOf(page)).toEqual([]);
  expect(await contrastsOf(page, 'dark')).toEqual([]);
  // What a token of this console has made is nobody else's.
  await page.goto(`${connection().dashboardUrl}/console/#/paymaster/shop?change=members`);
  await sees('Made by tests. No manifest has a field of it.')(page);
  expect(await page.locator('.managed').count()).toBe(0);
  expect(faults).toEqual([]);
});

test('what the browser finds wrong is said at each field, and the first one has the focus', async () => {
  const { page } = await open('paymaster/shop', { viewport: { ...desktop, height: 500 } });
  const form = page.locator('details', { hasText: 'Set a limit' });
  await form.locator('summary').click();
  await form.getByLabel('At most').fill('many');
  await form.getByRole('button', { name: 'Save' }).click();
  await form.getByRole('alert').getByText('Some fields are not right yet.').waitFor();
  expect(await form.locator('.fault').allTextContents()).toEqual([
    'Must be given',
    'Must be a number, such as 0.5',
  ]);
  const first = form.getByLabel('Name');
  await until('it has the focus', () => isFocused(first));
  expect(await inView(first)).toBe(true);
  expect(await violationsOf(page)).toEqual([]);
});
