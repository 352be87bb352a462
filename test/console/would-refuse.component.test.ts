import { beforeAll, expect, test } from '@jest/globals';
import type { Page, Route } from 'playwright-core';
import { until } from '../support/until.js';
import { contrastsOf, cutIn, violationsOf } from './support/browser.js';
import { useConsole } from './support/console.js';
import { press, sees, turn, write } from './support/keyboard.js';
import { askForThree } from './support/three-operations.js';

// Before something is tightened, its form says whom that would have met.

const { connection, open } = useConsole('would-refuse');
beforeAll(() => askForThree(connection()));

const offered = 'What would that have refused in the last 7 days?';
const judged = (page: Page) => page.getByRole('region', { name: 'What it would have refused' });
const statusOf = async (path: string): Promise<number> => {
  const { dashboardUrl, authToken } = connection();
  return (await fetch(`${dashboardUrl}/manage/v1/${path}`, { headers: { authToken } })).status;
};

test('by keyboard: a method that is taken away; the offer comes with the first one, and goes when it is back', async () => {
  const { page, faults } = await open('paymaster/shop?tab=contracts&change=shop-counter');
  await page.getByText('Change “counter”').waitFor();
  const offer = page.getByRole('button', { name: offered });
  expect(await offer.count()).toBe(0);
  for (const stroke of [
    turn('increment'),
    press(offered),
    sees(/^Of 2 operations that were signed in the last 7 days it would have refused 2\./),
    sees('Method not whitelisted'),
  ])
    await stroke(page);
  const accounts = judged(page).getByRole('table').locator('tbody tr');
  expect(await accounts.count()).toBe(2);
  expect(await violationsOf(page)).toEqual([]);
  await page.getByRole('checkbox', { name: 'increment' }).focus();
  await page.keyboard.press('Space');
  await offer.waitFor({ state: 'detached' });
  expect(await judged(page).count()).toBe(0);
  expect(faults).toEqual([]);
});

test('by mouse: a limit that is not there yet; asking makes nothing', async () => {
  const { page, faults } = await open('paymaster/shop', { colorScheme: 'light' });
  await page.getByText('Set a limit').click();
  const form = page.locator('form', { has: page.getByLabel('At most') });
  await form.getByLabel('Name').fill('tight');
  await form.getByLabel('At most').fill('1');
  await form.getByRole('button', { name: offered }).click();
  await judged(page).getByText('it would have refused 1.').waitFor();
  expect(await violationsOf(page)).toEqual([]);
  expect(await contrastsOf(page, 'dark')).toEqual([]);
  expect(await cutIn(page, { width: 390, height: 844 })).toEqual([]);
  expect(await statusOf('policies/shop-tight')).toBe(404);
  await page.setViewportSize({ width: 1280, height: 900 });
  await judged(page).getByRole('button', { name: 'Open it in What-if' }).click();
  await page.getByRole('heading', { name: 'What-if', exact: true }).waitFor();
  expect(await page.getByRole('textbox').inputValue()).toContain('"name": "shop-tight"');
  expect(faults).toEqual([]);
});

test('a form that is not filled in yet is told why it cannot be judged', async () => {
  const { page } = await open('paymaster/shop');
  for (const stroke of [press('Set a limit'), write('Name', 'empty'), press(offered)]) await stroke(page);
  await page.getByRole('alert').first().waitFor();
  expect(await judged(page).count()).toBe(0);
});

test('what a server answers is shown as text, and an answer about what the form said before is not shown', async () => {
  const evil = `<img src=x onerror="document.title='run'">`;
  const example = {
    reason: evil,
    decision: '019b76da-a800-7000-8000-000000000001',
    sender: evil,
    detail: evil,
    policyId: null,
  };
  const none = { count: 0, byReasonAndDay: [], examples: [] };
  const answer = {
    judged: 10,
    stillSigned: 3,
    wouldBeRefused: { count: 7, byReasonAndDay: [], examples: [example] },
    wouldPass: none,
    stillRefused: 0,
    unknown: none,
    gaps: [{ cause: 'rate', reason: evil, count: 1 }],
    notJudged: [{ rule: 'webhook', name: evil }],
  };
  const waiting: Route[] = [];
  const { page, faults } = await open('paymaster/shop', {
    answers: (of) => of.route('**/manage/v1/what-if', (route) => void waiting.push(route)),
  });
  for (const stroke of [press('Set a limit'), write('Name', 'evil'), write('At most', '1'), press(offered)])
    await stroke(page);
  await until('the first is asked', () => waiting.length === 1);
  await write('At most', '2')(page);
  await press(offered)(page);
  await until('the second is asked', () => waiting.length === 2);
  const [first, second] = waiting;
  await second?.fulfill({ json: { data: answer } });
  await judged(page).getByText('it would have refused 7.').waitFor();
  await first?.fulfill({ json: { data: { ...answer, wouldBeRefused: { ...none, count: 99 } } } });
  await page.waitForLoadState('networkidle');
  expect(await judged(page).getByText('99').count()).toBe(0);
  await judged(page).getByText(evil).first().waitFor();
  expect(await page.title()).not.toBe('run');
  expect(await page.locator('main img').count()).toBe(0);
  expect(faults).toEqual([]);
});
