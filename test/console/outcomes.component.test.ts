import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { freshUserOp } from '../system/support/client.js';
import { contrastsOf, inView, isFocused, violationsOf } from './support/browser.js';
import { useConsole } from './support/console.js';
import { press, sees } from './support/keyboard.js';

// What the console asks before it acts, and how a failure looks.

const { connection, create, open } = useConsole('outcomes');
const host = createServer((_request, response) => response.writeHead(500).end());
beforeAll(async () => {
  host.unref();
  await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve));
  const { port } = host.address() as AddressInfo;
  await create('policies', 'members', {
    paymasterRef: { name: 'shop' },
    name: 'members',
    policyType: 'WEBHOOK',
    webhook: { url: `http://127.0.0.1:${port}/` },
  });
  await create('policies', 'lenient', {
    paymasterRef: { name: 'shop' },
    name: 'lenient',
    policyType: 'WEBHOOK',
    webhook: { url: `http://127.0.0.1:${port}/`, onError: 'Allow' },
  });
  await create('tokens', 'robot', undefined, { scopes: ['read'] });
});
afterAll(() => {
  host.closeAllConnections();
  host.close();
});

/** What the page sends besides questions. */
function changesOf(page: Page): readonly string[] {
  const sent: string[] = [];
  page.on('request', (request) => {
    const { pathname } = new URL(request.url());
    if (request.method() !== 'GET' && pathname.startsWith('/manage/')) sent.push(pathname);
  });
  return sent;
}

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
