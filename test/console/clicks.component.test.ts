import { expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { anAbi } from '../build/resources.js';
import { agree, useConsole } from './support/console.js';

// How many times somebody has to press for what he does most.

const { connection, open } = useConsole('clicks');

/** Presses of the mouse since a page was opened. A page that is loaded anew would forget them. */
async function counted(
  path: string,
): Promise<{ readonly page: Page; readonly presses: () => Promise<number> }> {
  const { page } = await open(path);
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.evaluate(() => {
    const counter = Object.assign(globalThis, { presses: 0 });
    addEventListener('pointerdown', () => (counter.presses += 1), { capture: true });
  });
  return { page, presses: () => page.evaluate(() => (globalThis as unknown as { presses: number }).presses) };
}

test('from the first page to the request that has an operation sponsored: 13', async () => {
  const { page, presses } = await counted('overview');
  const press = (name: string) => page.getByRole('button', { name, exact: true }).click();
  const step = (title: string) => page.getByRole('heading', { name: `Step ${title}` }).waitFor();
  const type = (name: string, text: string) => page.getByRole('textbox', { name, exact: true }).fill(text);
  await page.getByRole('link', { name: 'Paymasters', exact: true }).click();
  await page.getByRole('link', { name: 'Create a paymaster' }).click();
  await type('Name', 'Quick');
  await press('Continue');
  await step('2 of 5: Contract');
  await type('Name', 'Game');
  await type('Address', connection().sponsoredContract.address);
  await type('ABI, as JSON', anAbi);
  await page.getByLabel('burn').click();
  await press('Continue');
  await step('3 of 5: Limit');
  await type('Name', 'a day');
  await type('At most', '10');
  await press('Continue');
  await step('4 of 5: Webhook');
  await press('Continue');
  await step('5 of 5: Summary');
  await press('Create');
  await page.getByRole('link', { name: 'Try an operation in the playground' }).click();
  await page.getByText('Build one').click();
  await page.getByLabel('rounds: uint256').or(page.getByLabel('argument 1: uint256')).fill('1');
  await press('Build');
  await page.getByText('The operation is above.').waitFor();
  await press('Explain');
  await page.getByText('It would be sponsored.').waitFor();
  await page.getByText('Have it sponsored').click();
  await page.locator('pre').getByText('pm_sponsorUserOperation').waitFor();
  expect(await presses()).toBe(13);
});

test('from the first page to a paymaster that is suspended: 3', async () => {
  const { page, presses } = await counted('overview');
  await page.getByRole('link', { name: 'Paymasters', exact: true }).click();
  await page.getByRole('button', { name: 'Suspend shop (chain 31337)' }).click();
  await agree(page, 'Suspend');
  await page.getByText('“shop” is suspended').waitFor();
  expect(await presses()).toBe(3);
});

test('from the page of a paymaster to its new apiKey: 4', async () => {
  const { page, presses } = await counted('paymaster/shop');
  await page.getByRole('link', { name: 'Connect', exact: true }).click();
  await page.getByText('Give it a new apiKey').click();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await agree(page, 'Give a new apiKey');
  await page.getByText('It has a new apiKey.').waitFor();
  expect(await presses()).toBe(4);
});
