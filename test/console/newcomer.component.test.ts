import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { until } from '../support/until.js';
import { freshUserOp } from '../system/support/client.js';
import { violationsOf } from './support/browser.js';
import { useConsole } from './support/console.js';

// From a fresh `make run` to the first operation of a paymaster of one's own, with nothing but what the screen says.

const { connection, open } = useConsole('newcomer');
let page: Page;
let faults: readonly string[];
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'newcomer-'));
  ({ page, faults } = await open('overview'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const paste = (command: string): string =>
  execFileSync('bash', ['-c', command], { cwd: folder, encoding: 'utf8' });

/** What the page offers to paste, after it explained an operation that would be sponsored. */
async function offered(): Promise<string> {
  await page.getByRole('button', { name: 'Explain' }).click();
  await page.getByText('It would be sponsored.').waitFor();
  await page.getByText('Have it sponsored').click();
  return (await page.locator('pre').textContent()) ?? '';
}

test('a paymaster with a contract and a limit sponsors an operation that the page has built', async () => {
  await page.getByRole('link', { name: 'paymaster', exact: true }).click();
  await page.getByRole('link', { name: 'Create a paymaster' }).click();
  await page.getByLabel('Name', { exact: true }).fill('My game');
  // The server checks each step before the next one appears, which has fields of the same names.
  const next = async (step: string): Promise<void> => {
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('heading', { name: `Step ${step} of 5` }).waitFor();
  };
  await next('2');
  await page.getByLabel('Copy a registered one').selectOption('counter');
  await page.getByLabel('increment').check();
  await next('3');
  await page.getByLabel('Name', { exact: true }).fill('a day');
  await page.getByLabel('At most').fill('10');
  await next('4');
  await page.getByText('Ask nobody').waitFor();
  await next('5');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByText('“My game” is created.').waitFor();
  await page.getByRole('link', { name: 'Try an operation in the playground' }).click();
  await page.getByText('Build one').click();
  await page.getByRole('button', { name: 'Build' }).click();
  await page.getByText('The operation is above.').waitFor();
  const command = await offered();
  expect(await violationsOf(page)).toEqual([]);
  expect(JSON.parse(paste(command)).result.paymasterAndData).toMatch(/^0x[0-9a-f]{100}/);

  await page.getByRole('link', { name: 'Activity' }).first().click();
  const row = page.getByRole('row', { name: /sponsored.*counter\.increment.*My game.*not yet/ });
  await row.waitFor();
  await page.getByRole('link', { name: 'Overview' }).click();
  await page.getByText('Show as a table').first().click();
  expect(await page.getByRole('table', { name: 'Operations' }).textContent()).toMatch(/(10|00)$/);
  // Until the paymaster exists, a dry run of its contract or policy is answered with 400.
  expect(faults.filter((fault) => !fault.includes('400'))).toEqual([]);
});

test('a call that is not paid for is refused by its step, and a wrong argument is named', async () => {
  await page.goto(`${connection().dashboardUrl}/console/#/playground`);
  await page.getByText('Build one').click();
  await page.getByLabel('Method').selectOption({ label: 'burn(uint256): not paid for' });
  await page.getByLabel('rounds: uint256').fill('many');
  await page.getByRole('button', { name: 'Build' }).click();
  await page.getByRole('alert').getByText('many').waitFor();
  await page.getByLabel('rounds: uint256').fill('3');
  await page.getByRole('button', { name: 'Build' }).click();
  await page.getByText('The operation is above.').waitFor();
  await page.getByRole('button', { name: 'Explain' }).click();
  await page.getByText('It would be refused').waitFor();
  expect(await page.getByText('Have it sponsored').count()).toBe(0);
});

test('a pasted operation runs nothing in the shell of whoever pastes the offered command', async () => {
  const operation = { ...freshUserOp(connection()), note: `'; touch stolen; echo '$(touch stolen)` };
  await page.getByRole('textbox').first().fill(JSON.stringify(operation));
  paste(await offered());
  expect(existsSync(join(folder, 'stolen'))).toBe(false);
});

test('the code that the page offers for curl is copied by its button, and answered by the paymaster', async () => {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.goto(`${connection().dashboardUrl}/console/#/paymaster/shop?tab=connect`);
  await page.getByRole('button', { name: 'Show the apiKey' }).click();
  const curl = page.getByRole('region', { name: 'curl' });
  await curl.getByText(connection().apiKey).waitFor();
  await curl.getByRole('button', { name: 'Copy code for curl' }).click();
  const command = (await curl.locator('pre').textContent())!;
  await until(
    'it is copied',
    async () => (await page.evaluate(() => navigator.clipboard.readText())) === command,
  );
  // An operation that does nothing: decided, and refused.
  expect(JSON.parse(paste(command))).toMatchObject({
    result: { paymasterAndData: '0x', reason: expect.any(String) },
  });
  for (const library of ['viem', 'permissionless', 'ethers'])
    expect(await page.getByRole('region', { name: library }).locator('pre').textContent()).toContain(
      connection().apiKey,
    );
});
