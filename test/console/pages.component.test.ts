import { beforeAll, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { anAbi } from '../build/resources.js';
import { dashboard, freshUserOp, rpc, rpcUrlFor } from '../system/support/client.js';
import { contrastsOf, cutIn, desktop, violationsOf } from './support/browser.js';
import { useConsole } from './support/console.js';
import { tabTo } from './support/keyboard.js';
import { askForThree } from './support/three-operations.js';

// Every page of the console in a real browser, of an organisation for which some operations were asked for.

const { connection, open, visit } = useConsole('pages');
beforeAll(async () => {
  await askForThree(connection());
  const { dashboardUrl, authToken } = connection();
  const made = await fetch(`${dashboardUrl}/manage/v1/tokens`, {
    method: 'POST',
    headers: { authToken, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'robot', scopes: ['read'] }),
  });
  if (!made.ok) throw new Error(await made.text());
});

// A window of 1280 pixels has 640 at 200 %.
const narrow = [
  { width: 640, height: 450 },
  { width: 390, height: 844 },
];

/** Each page with what it must show of the seeded data. */
const pages: readonly { readonly path: string; readonly shows: (page: Page) => Promise<unknown> }[] = [
  {
    path: 'overview',
    shows: async (page) => {
      await page.getByText('Method not whitelisted').first().waitFor();
      // A narrow window has it in front of each figure instead of above them.
      const rate = { name: 'Spent per hour, mean of 24 h', includeHidden: true };
      await page.getByRole('columnheader', rate).waitFor({ state: 'attached' });
    },
  },
  { path: 'problems', shows: (page) => page.getByText('Nothing is wrong.').waitFor() },
  {
    path: 'paymaster',
    shows: async (page) => {
      await page.getByRole('row', { name: /^shop in service dev 0 ETH .* operations per day/ }).waitFor();
    },
  },
  {
    path: 'paymaster/shop',
    shows: async (page) => {
      // One list, in which numbers are written in one way, and the money of a chain is called coins.
      await page.getByRole('cell', { name: 'at most 100,000 operations each day', exact: true }).waitFor();
      await page.getByRole('cell', { name: /99,99\d operations/ }).waitFor();
      await page.getByRole('cell', { name: 'at most 1 coin each day for each account' }).waitFor();
      expect(await page.getByRole('table').count()).toBe(1);
    },
  },
  {
    path: 'paymaster/shop?tab=contracts',
    shows: (page) =>
      page.getByRole('row', { name: /^counter by manifests .*increment burn active/ }).waitFor(),
  },
  {
    path: 'paymaster/shop?tab=money',
    shows: (page) => page.getByRole('cell', { name: /^Deposit of contract/ }).waitFor(),
  },
  {
    path: 'paymaster/shop?tab=connect',
    shows: (page) => page.getByRole('heading', { name: 'permissionless' }).waitFor(),
  },
  {
    path: 'paymaster/shop?tab=yaml',
    shows: (page) => page.getByText('policyType: WALLET_DEPLOYMENT').waitFor(),
  },
  {
    path: 'activity',
    shows: (page) => page.getByRole('link', { name: 'counter.increment' }).first().waitFor(),
  },
  {
    path: 'money',
    shows: (page) =>
      page.getByRole('cell', { name: 'Opening balance' }).first().waitFor({ state: 'attached' }),
  },
  {
    path: 'usage',
    shows: (page) => page.getByRole('cell', { name: 'counter.increment' }).waitFor({ state: 'attached' }),
  },
  { path: 'what-if', shows: (page) => page.getByRole('button', { name: 'Ask', exact: true }).waitFor() },
  { path: 'playground', shows: (page) => page.getByRole('button', { name: 'Explain' }).waitFor() },
  {
    path: 'changes',
    shows: (page) => page.getByRole('cell', { name: 'created DashboardToken robot' }).first().waitFor(),
  },
  { path: 'tokens', shows: (page) => page.getByText('Make a token').waitFor() },
];

test.each(pages)(
  '$path shows its data, is accessible in light and dark, calls no other host, and needs no scroll to the side at 1280 pixels, at 200 % zoom or on a phone',
  async ({ path, shows }) => {
    const { page, faults } = await open(path, { colorScheme: 'light' });
    await shows(page);
    expect(await violationsOf(page)).toEqual([]);
    expect(await contrastsOf(page, 'dark')).toEqual([]);
    // On a phone code goes on in the next line; elsewhere it scrolls by itself.
    const cut = await cutIn(page, desktop);
    expect(cut.filter((each) => !each.startsWith('PRE '))).toEqual([]);
    for (const viewport of narrow) expect(await cutIn(page, viewport)).toEqual([]);
    expect(faults).toEqual([]);
  },
);

test('a decision needs no scroll to the side either', async () => {
  const { page } = await open('activity?verdict=refused');
  await page.getByRole('link', { name: /^20\d\d-/ }).click();
  await page.getByRole('heading', { name: 'Refused: Method not whitelisted' }).waitFor();
  for (const viewport of narrow) expect(await cutIn(page, viewport)).toEqual([]);
});

test('usage answers for every range and grouping that its page offers', async () => {
  const { page, faults } = await open('usage');
  await page.getByRole('heading', { name: 'Usage' }).waitFor();
  const choicesOf = (label: string) =>
    page
      .getByRole('combobox', { name: label, exact: true })
      .locator('option')
      .evaluateAll((options) => options.map((option) => (option as HTMLOptionElement).value));
  const [ranges, groups] = [await choicesOf('Range'), await choicesOf('By')];
  expect(groups).toEqual(expect.arrayContaining(['sender', 'campaign', 'wouldRefuse', 'key']));
  for (const range of ranges)
    for (const groupBy of groups) {
      const answered = page.waitForResponse(
        (response) =>
          response.url().includes('/manage/v1/usage') && response.url().includes(`groupBy=${groupBy}`),
      );
      await page.goto(`${connection().dashboardUrl}/console/#/usage?range=${range}&groupBy=${groupBy}`);
      expect(`${range} by ${groupBy}: ${(await answered).status()}`).toBe(`${range} by ${groupBy}: 200`);
    }
  expect(faults).toEqual([]);
});

test('sign-in refuses a wrong token, and leaves nothing of the right one in the browser', async () => {
  const { page, context, faults, close } = await visit();
  const { authToken } = connection();
  await page.goto(`${connection().dashboardUrl}/console/`);
  await page.getByLabel('Token').waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await page.getByLabel('Token').fill('not-a-token');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').waitFor();
  await page.getByLabel('Token').fill(authToken);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  const kept = await page.evaluate(() =>
    JSON.stringify([localStorage.length, sessionStorage.length, document.cookie, location.href]),
  );
  expect(kept).toBe(JSON.stringify([0, 0, '', `${connection().dashboardUrl}/console/`]));
  expect(await page.content()).not.toContain(authToken);
  const cookies = await context.cookies();
  expect(cookies).toMatchObject([{ name: 'paymaster-session', httpOnly: true, sameSite: 'Strict' }]);
  expect(JSON.stringify(cookies)).not.toContain(authToken);
  expect(faults).toEqual([expect.stringContaining('401')]);

  await page.reload();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('Token').waitFor();
  await page.reload();
  await page.getByLabel('Token').waitFor();
  expect(await context.cookies()).toEqual([]);
  await close();
});

test('the keyboard alone leads from a page to one decision and its trace', async () => {
  const { page, faults } = await open('overview');
  await tabTo(page, 'Skip to the page');
  await tabTo(page, 'Activity');
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'Method not whitelisted' }).first().waitFor();
  await tabTo(page, /^20\d\d-/);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Refused: Method not whitelisted' }).waitFor();
  const steps = page.getByRole('region', { name: 'How it was decided' });
  expect(await steps.textContent()).toMatch(/refuseCalls: Method not whitelisted/);
  expect(await steps.locator('b').first().textContent()).toBe('Method not whitelisted');
  expect(faults).toEqual([]);
});

test('a phone leaves out what a row does not have', async () => {
  const { page } = await open('paymaster/shop', { viewport: { width: 390, height: 844 } });
  const none = page.locator('td').filter({ hasText: /^–$/ });
  await none.first().waitFor({ state: 'attached' });
  expect(await none.filter({ visible: true }).count()).toBe(0);
});

test('a sponsored operation names the limits that counted it', async () => {
  const { page } = await open('activity?verdict=sponsored');
  await page.getByRole('row', { name: 'counter.increment' }).first().getByRole('link').first().click();
  const steps = page.getByRole('region', { name: 'How it was decided' });
  await steps.getByText('operations per day').waitFor();
  await steps.getByText('gas per user and day').waitFor();
});

test('a plot has its figures as a table', async () => {
  const { page } = await open('overview');
  await page.getByText('Show as a table').first().click();
  const table = page.getByRole('table', { name: 'Operations' });
  expect(await table.locator('tbody tr').last().textContent()).toMatch(/:00:00(21|00)$/);
});

/** Texts that a tenant may choose, or a wallet may send, as somebody would who wants to act as the owner. */
test('no text runs as a script', async () => {
  const own = connection();
  const evil = `<img src=x onerror="document.title='run'"><script>document.title='run'</script>`;
  const { apiKey } = await aPaymaster(evil);
  const contract = {
    name: evil,
    address: own.sponsoredContract.address,
    abi: anAbi,
    whitelistedMethods: ['mint'],
  };
  const made = [
    await dashboard(own, 'POST', '/smart-contract', { apiKey, body: contract }),
    await dashboard(own, 'POST', '/paymaster-policy', {
      apiKey,
      body: { name: evil, policyType: 'WALLET_DEPLOYMENT', policyData: {} },
    }),
  ];
  expect(made.map(({ status }) => status)).toEqual([200, 200]);
  await rpc(
    rpcUrlFor(own, apiKey),
    'pm_sponsorUserOperation',
    [freshUserOp(own), { mode: 'SPONSORED', calculateGasLimits: false }],
    { 'x-request-id': evil.replaceAll(' ', '/') },
  );
  const { page, faults } = await open('paymaster');
  await page.getByRole('link', { name: evil }).click();
  await page.getByRole('button', { name: `Pause ${evil}` }).waitFor();
  expect(await page.getByRole('cell', { name: evil }).count()).toBeGreaterThan(0);
  await page.getByRole('link', { name: 'Contracts', exact: true }).first().click();
  await page.getByRole('cell', { name: `${evil} by` }).waitFor();
  await page.getByRole('link', { name: 'YAML', exact: true }).click();
  await page.locator('main pre').getByText('<script>').waitFor();
  expect(await page.locator('main img').count()).toBe(0);
  for (const path of ['activity', 'usage?range=15m&groupBy=contract', 'playground', 'overview']) {
    await page.goto(`${connection().dashboardUrl}/console/#/${path}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    if (path !== 'overview')
      await page.getByRole('option', { name: evil }).first().waitFor({ state: 'attached' });
    expect(await page.title()).not.toBe('run');
    expect(await page.locator('main img').count()).toBe(0);
  }
  expect(faults).toEqual([]);
});

test.each(['paymaster', 'activity', 'usage', 'playground'])(
  'a paymaster with a long name makes %s no wider than a phone',
  async (path) => {
    const name = 'A paymaster with quite a long name that somebody has typed';
    await aPaymaster(`${name}: ${path}`);
    const { page } = await open(path, { viewport: { width: 390, height: 844 } });
    const shown =
      path === 'paymaster' ? page.getByRole('link', { name }) : page.getByRole('option', { name });
    await shown.first().waitFor({ state: 'attached' });
    const wider = await page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
    expect(wider).toBeLessThanOrEqual(0);
  },
);

async function aPaymaster(name: string): Promise<{ readonly apiKey: string }> {
  const own = connection();
  const body = { name, type: 'HYBRID', chainId: own.chainId, version: '1.1.0' };
  const answer = await dashboard(own, 'POST', '/paymaster', { body });
  expect(answer.status).toBe(200);
  return answer.body.data as { apiKey: string };
}
