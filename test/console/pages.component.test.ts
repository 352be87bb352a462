import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Wallet, getBytes, id } from 'ethers';
import type { Page } from 'playwright-core';
import { anAbi } from '../build/resources.js';
import { dashboard, freshUserOp, rpc, rpcUrlFor } from '../system/support/client.js';
import {
  removeDataDirectory,
  startStandalone,
  type RunningStandalone,
} from '../system/support/standalone.js';
import { until } from '../support/until.js';
import { useBrowser, violationsOf, type Visit } from './support/browser.js';

// The console in a real browser, against `make run` with some operations asked for.

const visit = useBrowser();
let running: RunningStandalone;
let origin: string;

beforeAll(async () => {
  running = await startStandalone();
  const connection = running.connection();
  origin = connection.dashboardUrl;
  const sponsored = () => freshUserOp(connection);
  const refused = {
    ...sponsored(),
    callData: String(sponsored()['callData']).replace('d09de08a', 'ffffffff'),
  };
  for (const op of [sponsored(), sponsored(), refused])
    await rpc(connection.rpcUrl, 'pm_sponsorUserOperation', [
      op,
      { mode: 'SPONSORED', calculateGasLimits: false },
    ]);
  await until('the ledger has all of them', async () => {
    const answer = await fetch(`${origin}/manage/v1/decisions`, {
      headers: { authToken: connection.authToken },
    });
    return ((await answer.json()) as { data: { decisions: unknown[] } }).data.decisions.length === 3;
  });
}, 300_000);
afterAll(async () => {
  running?.signal('SIGKILL');
  await running?.ended;
  if (running !== undefined) removeDataDirectory(running.dataDirectory);
});

/** The first signs in; others have its cookie, since attempts are counted. */
let session: Awaited<ReturnType<Visit['context']['storageState']>> | undefined;
async function signedIn(options: Parameters<typeof visit>[1] = {}): Promise<Visit> {
  const opened = await visit(origin, { ...options, ...(session && { storageState: session }) });
  await opened.page.goto(`${origin}/console/`);
  if (session === undefined) {
    await opened.page.getByLabel('Token').fill(running.connection().authToken);
    await opened.page.keyboard.press('Enter');
  }
  await opened.page.getByRole('heading', { name: 'Overview' }).waitFor();
  session ??= await opened.context.storageState();
  return opened;
}

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
      await page.getByRole('cell', { name: 'operations per day' }).first().waitFor();
      // Rules, limits and policies write numbers in one way, and call the money of a chain coins.
      await page.getByRole('cell', { name: /of 100,000 operations/ }).waitFor();
      await page.getByRole('cell', { name: /at most 1 coin for each account/ }).waitFor();
      await page.getByRole('cell', { name: /Threshold: 100,000,/ }).waitFor();
    },
  },
  { path: 'activity', shows: (page) => page.getByText('counter.increment').first().waitFor() },
  {
    path: 'usage',
    shows: (page) => page.getByRole('cell', { name: 'counter.increment' }).waitFor({ state: 'attached' }),
  },
  { path: 'replay', shows: (page) => page.getByRole('button', { name: 'Replay', exact: true }).waitFor() },
  { path: 'playground', shows: (page) => page.getByRole('button', { name: 'Explain' }).waitFor() },
  {
    path: 'changes',
    shows: (page) => page.getByRole('cell', { name: 'created Paymaster shop' }).first().waitFor(),
  },
  { path: 'tokens', shows: (page) => page.getByText('Make a token').waitFor() },
];

describe.each(['light', 'dark'] as const)('in %s', (colorScheme) => {
  test.each(pages)(
    '$path shows its data, is accessible, and calls no other host',
    async ({ path, shows }) => {
      const { page, faults, close } = await signedIn({ colorScheme });
      await page.goto(`${origin}/console/#/${path}`);
      await shows(page);
      expect(await violationsOf(page)).toEqual([]);
      expect(faults).toEqual([]);
      await close();
    },
  );
});

// A window of 1280 pixels has 640 at 200 %.
describe.each([
  { seen: 'at 200 % zoom', viewport: { width: 640, height: 450 } },
  { seen: 'on a phone', viewport: { width: 390, height: 844 } },
])('$seen', ({ viewport }) => {
  test.each([
    ...pages,
    {
      path: 'activity?verdict=refused',
      shows: async (page: Page) => {
        await page.getByRole('link', { name: /^20\d\d-/ }).click();
        await page.getByRole('heading', { name: 'Refused: Method not whitelisted' }).waitFor();
      },
    },
  ])('$path needs no scroll to the side, also with every form and table open', async ({ path, shows }) => {
    const { page, close } = await signedIn({ viewport });
    await page.goto(`${origin}/console/#/${path}`);
    await shows(page);
    const cut = await page.evaluate(() => {
      for (const each of document.querySelectorAll('details')) each.open = true;
      return [...document.querySelectorAll('*')]
        .filter((each) => each.scrollWidth > each.clientWidth)
        .filter((each) => each === document.documentElement || getComputedStyle(each).overflowX === 'auto')
        .map((each) => `${each.tagName} ${each.getAttribute('aria-label') ?? each.className}`);
    });
    expect(cut).toEqual([]);
    await close();
  });
});

test('usage answers for every range and grouping that its page offers', async () => {
  const { page, faults, close } = await signedIn();
  await page.goto(`${origin}/console/#/usage`);
  await page.getByRole('heading', { name: 'Usage' }).waitFor();
  const choicesOf = (label: string) =>
    page
      .getByRole('combobox', { name: label, exact: true })
      .locator('option')
      .evaluateAll((options) => options.map((option) => (option as HTMLOptionElement).value));
  const [ranges, groups] = [await choicesOf('Range'), await choicesOf('By')];
  expect(groups).toEqual(expect.arrayContaining(['sender', 'campaign', 'wouldRefuse']));
  for (const range of ranges)
    for (const groupBy of groups) {
      const answered = page.waitForResponse(
        (response) =>
          response.url().includes('/manage/v1/usage') && response.url().includes(`groupBy=${groupBy}`),
      );
      await page.goto(`${origin}/console/#/usage?range=${range}&groupBy=${groupBy}`);
      expect(`${range} by ${groupBy}: ${(await answered).status()}`).toBe(`${range} by ${groupBy}: 200`);
    }
  expect(faults).toEqual([]);
  await close();
});

describe('sign-in', () => {
  test('refuses a wrong token, and leaves nothing of the right one in the browser', async () => {
    const { page, context, faults, close } = await visit(origin);
    const { authToken } = running.connection();
    await page.goto(`${origin}/console/`);
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
    expect(kept).toBe(JSON.stringify([0, 0, '', `${origin}/console/`]));
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

  test('follows the printed link once, and takes the code out of the address', async () => {
    const link = /http:\S+\/console\/#code=[\w-]+/.exec(running.output())?.[0] ?? '';
    const first = await visit(origin);
    await first.page.goto(link);
    await first.page.getByRole('heading', { name: 'Overview' }).waitFor();
    expect(first.page.url()).toBe(`${origin}/console/#/overview`);
    await first.close();
    const second = await visit(origin);
    await second.page.goto(link);
    await second.page.getByRole('alert').waitFor();
    expect(await second.page.getByLabel('Token').isVisible()).toBe(true);
    await second.close();
  });
});

test('the keyboard alone leads from a page to one decision and its trace', async () => {
  const { page, faults, close } = await signedIn();
  const tabTo = async (name: string | RegExp): Promise<void> => {
    for (let presses = 0; presses < 40; presses += 1) {
      await page.keyboard.press('Tab');
      const focused = await page.evaluate(() => document.activeElement?.textContent ?? '');
      if (typeof name === 'string' ? focused === name : name.test(focused)) return;
    }
    throw new Error(`the keyboard does not reach ${String(name)}`);
  };
  await tabTo('Skip to the page');
  await tabTo('Activity');
  await page.keyboard.press('Enter');
  await page.getByText('Method not whitelisted').first().waitFor();
  await tabTo(/^20\d\d-/);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Refused: Method not whitelisted' }).waitFor();
  const steps = page.getByRole('region', { name: 'How it was decided' });
  expect(await steps.textContent()).toMatch(/refuseCalls: Method not whitelisted/);
  expect(await steps.locator('b').first().textContent()).toBe('Method not whitelisted');
  expect(faults).toEqual([]);
  await close();
});

test.each(['changes', 'paymaster'])('a phone leaves out what a row of %s does not have', async (path) => {
  const { page, close } = await signedIn({ viewport: { width: 390, height: 844 } });
  await page.goto(`${origin}/console/#/${path}`);
  const none = page.locator('td').filter({ hasText: /^–$/ });
  await none.first().waitFor({ state: 'attached' });
  expect(await none.filter({ visible: true }).count()).toBe(0);
  await close();
});

test('a sponsored operation names the limits that counted it', async () => {
  const { page, close } = await signedIn();
  await page.goto(`${origin}/console/#/activity?verdict=sponsored`);
  await page.getByRole('row', { name: 'counter.increment' }).first().getByRole('link').first().click();
  const steps = page.getByRole('region', { name: 'How it was decided' });
  await steps.getByText('operations per day').waitFor();
  await steps.getByText('gas per user and day').waitFor();
  await close();
});

test('a plot has its figures as a table', async () => {
  const { page, close } = await signedIn();
  await page.getByText('Show as a table').first().click();
  const table = page.getByRole('table', { name: 'Operations' });
  expect(await table.locator('tbody tr').last().textContent()).toMatch(/:00:00(21|00)$/);
  await close();
});

test('the playground explains an operation and changes nothing', async () => {
  const { page, faults, close } = await signedIn();
  await page.goto(`${origin}/console/#/playground`);
  await page.getByRole('textbox').fill(JSON.stringify(freshUserOp(running.connection())));
  await page.getByRole('button', { name: 'Explain' }).click();
  await page.getByText('It would be sponsored.').waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await page.getByRole('textbox').fill('{');
  await page.getByRole('button', { name: 'Explain' }).click();
  await page.getByText('This is not JSON').waitFor();
  expect(faults).toEqual([]);
  await close();
});

test('a replay says what a change would have refused', async () => {
  const { page, faults, close } = await signedIn();
  await page.goto(`${origin}/console/#/replay`);
  await page.getByRole('button', { name: 'Begin with an example' }).click();
  const yaml = await page.getByRole('textbox').inputValue();
  await page.getByRole('textbox').fill(yaml.replace('threshold: "5"', 'threshold: "1"'));
  await page.getByRole('button', { name: 'Replay', exact: true }).click();
  await page.getByRole('heading', { name: 'Newly refused' }).waitFor();
  expect(await page.getByRole('region', { name: 'Result' }).textContent()).toContain('Newly refused1');
  expect(await violationsOf(page)).toEqual([]);
  expect(faults).toEqual([]);
  await close();
});

test('before a limit is lowered the page shows what it would have refused, and then lowers it', async () => {
  const { page, faults, close } = await signedIn();
  await page.goto(`${origin}/console/#/paymaster/shop`);
  await page.getByText('Change a limit').click();
  const form = page.locator('form', { has: page.getByLabel('New threshold, instead of') });
  await form
    .getByRole('combobox', { name: 'Limit', exact: true })
    .selectOption({ label: 'operations per day' });
  await form.getByLabel('New threshold, instead of').fill('1');
  await page.getByRole('button', { name: 'See what it would have refused' }).click();
  await page.getByRole('heading', { name: 'Replay', exact: true }).waitFor();
  await page.getByRole('button', { name: 'Replay', exact: true }).click();
  await page.getByRole('heading', { name: 'Newly refused' }).waitFor();
  expect(await page.getByRole('region', { name: 'Result' }).textContent()).toMatch(/Newly refused[1-9]/);

  await page.goto(`${origin}/console/#/paymaster/shop`);
  await page.getByText('Change a limit').click();
  const limit = form.getByRole('combobox', { name: 'Limit', exact: true });
  await limit.selectOption({ label: 'operations per day' });
  await form.getByLabel('New threshold, instead of').fill('1');
  await form.getByRole('button', { name: 'Save' }).click();
  // A manifest owns this one.
  await page.getByText('Commit this instead:').waitFor();
  expect(await form.locator('pre').innerText()).toMatch(/threshold: ['"]?1['"]?/);

  await page.getByText('Set a limit').click();
  const made = page.locator('form', { has: page.getByLabel('At most') });
  await made.getByLabel('Name').fill('of the console');
  await made.getByLabel('At most').fill('100');
  await made.getByRole('button', { name: 'Save' }).click();
  await page.getByText('The limit “of the console” counts from now on.').waitFor();
  expect(await asked()).toBe('sponsored');
  await limit.selectOption({ label: 'of the console' });
  for (const threshold of ['0', '1000']) {
    await form.getByLabel('New threshold, instead of').fill(threshold);
    await form.getByRole('button', { name: 'Save' }).click();
    await page.getByText(`“of the console” allows ${threshold} from now on.`).waitFor();
    expect(await asked()).toBe(threshold === '0' ? 'refused' : 'sponsored');
  }
  expect(await violationsOf(page)).toEqual([]);
  expect(faults.filter((fault) => !fault.includes('409'))).toEqual([]);
  await close();
});

test('a limit is made of each cycle, changed to another one, and offers the replay before it begins to refuse', async () => {
  const { page, faults, close } = await signedIn();
  const { authToken } = running.connection();
  const limitOf = async (name: string) => {
    const answer = await fetch(`${origin}/manage/v1/policies/shop-${name}`, { headers: { authToken } });
    return ((await answer.json()) as { data: { spec: Record<string, unknown> } }).data.spec;
  };
  await page.goto(`${origin}/console/#/paymaster/shop`);
  await page.getByText('Set a limit').click();
  const made = page.locator('form', { has: page.getByLabel('At most') });
  for (const { cycle, fill, want } of [
    { cycle: 'hours', fill: { 'How many hours': '6' }, want: { cycleDuration: { value: 6, unit: 'hour' } } },
    {
      cycle: 'month',
      fill: { 'Time zone': 'Europe/Berlin' },
      want: { calendar: { every: 'month', timeZone: 'Europe/Berlin' } },
    },
    { cycle: 'never', fill: {}, want: { never: {} } },
  ]) {
    await made.getByLabel('Name').fill(`of ${cycle}`);
    await made.getByLabel('At most').fill('100');
    await made.getByLabel('Begins again').selectOption(cycle);
    for (const [label, text] of Object.entries(fill)) await made.getByLabel(label).fill(text);
    await made.getByRole('button', { name: 'Save' }).click();
    await page.getByText(`The limit “of ${cycle}” counts from now on.`).waitFor();
    expect(await limitOf(`of-${cycle}`)).toMatchObject({ spendingLimit: want });
  }

  await page.getByText('Change a limit').click();
  const form = page.locator('form', { has: page.getByLabel('New threshold, instead of') });
  await form.getByRole('combobox', { name: 'Limit', exact: true }).selectOption({ label: 'of month' });
  await form.getByLabel('New threshold, instead of').fill('0');
  await form.getByLabel('Beyond it').selectOption('Shadow');
  await form.getByLabel('Begins again').selectOption('never');
  await form.getByRole('button', { name: 'Save' }).click();
  await page.getByText('It counts alone, and refuses nothing.').waitFor();
  const { enforcement, spendingLimit } = await limitOf('of-month');
  expect({ enforcement, spendingLimit }).toEqual({
    enforcement: 'Shadow',
    spendingLimit: { scope: 'PAYMASTER', thresholdType: 'COUNT', threshold: '0', never: {} },
  });
  expect(await asked()).toBe('sponsored');

  const offer = form.getByRole('button', { name: 'See what it would have refused' });
  await offer.waitFor({ state: 'detached' });
  await form.getByLabel('Beyond it').selectOption('Enforce');
  await offer.waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await form.getByRole('button', { name: 'Save' }).click();
  await page.getByText('“of month” allows 0 from now on.', { exact: true }).waitFor();
  expect(await asked()).toBe('refused');
  for (const name of ['of hours', 'of month', 'of never']) {
    await page.getByRole('button', { name: `Pause ${name}` }).click();
    await page.getByText(`“${name}” is paused`).waitFor();
  }
  expect(await asked()).toBe('sponsored');
  expect(faults).toEqual([]);
  await close();
});

test('a lost connection is shown, and goes when it is back', async () => {
  const { page, context, close } = await signedIn();
  const lost = page.getByText('No connection since');
  await context.setOffline(true);
  await lost.waitFor();
  await context.setOffline(false);
  await lost.waitFor({ state: 'detached' });
  await close();
});

async function asked(): Promise<'refused' | 'sponsored'> {
  const connection = running.connection();
  const mode = { mode: 'SPONSORED', calculateGasLimits: false };
  const { result } = await rpc(connection.rpcUrl, 'pm_sponsorUserOperation', [freshUserOp(connection), mode]);
  return result?.['paymasterAndData'] === '0x' ? 'refused' : 'sponsored';
}

test('a limit is set, paused and resumed, and each next operation follows', async () => {
  const { page, faults, close } = await signedIn();
  await page.goto(`${origin}/console/#/paymaster`);
  await page.getByText('Set a limit').click();
  const form = page.locator('form', { has: page.getByLabel('At most') });
  await form.getByLabel('Name').fill('only one');
  await form.getByLabel('At most').fill('1');
  await page.keyboard.press('Enter');
  await page.getByText('The limit “only one” counts from now on.').waitFor();
  expect(await violationsOf(page)).toEqual([]);
  expect([await asked(), await asked()]).toEqual(['sponsored', 'refused']);

  await page.getByRole('button', { name: 'Pause only one' }).click();
  await page.getByText('“only one” is paused').waitFor();
  expect(await asked()).toBe('sponsored');
  await page.getByRole('button', { name: 'Resume only one' }).click();
  await page.getByText('“only one” is active again').waitFor();
  expect(await asked()).toBe('refused');
  await page.getByRole('button', { name: 'Pause only one' }).click();
  await page.getByText('“only one” is paused').waitFor();
  expect(faults).toEqual([]);
  await close();
});

test('a token is made by keyboard, shown once, works within its scopes, and is refused once it is revoked', async () => {
  const { page, faults, close } = await signedIn();
  await page.goto(`${origin}/console/#/tokens`);
  await page.getByText('Make a token').focus();
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  await page.keyboard.type('on-call');
  await page.getByLabel('read:').focus();
  await page.keyboard.press('Space');
  await page.getByRole('button', { name: 'Save' }).focus();
  await page.keyboard.press('Enter');
  await page.getByText('“on-call” is made.').waitFor();
  const authToken = await page.locator('code.secret').innerText();
  expect(await violationsOf(page)).toEqual([]);
  const call = async (method: string, path: string) =>
    (await fetch(`${origin}/manage/v1${path}`, { method, headers: { authToken } })).status;
  expect([await call('GET', '/paymasters'), await call('POST', '/paymasters/shop/suspend')]).toEqual([
    200, 403,
  ]);
  const kept = await page.evaluate(() =>
    JSON.stringify([
      localStorage.length,
      sessionStorage.length,
      document.cookie,
      location.href,
      document.title,
    ]),
  );
  expect(kept).not.toContain(authToken);
  expect(kept).toMatch(/^\[0,0,/);

  await page.getByRole('button', { name: 'I have copied it' }).click();
  await page.locator('code.secret').waitFor({ state: 'detached' });
  await page.reload();
  await page.getByRole('cell', { name: 'on-call', exact: true }).waitFor();
  expect(await page.content()).not.toContain(authToken);
  await page.getByRole('button', { name: 'Revoke on-call' }).click();
  await page.getByText('“on-call” is revoked').waitFor();
  expect(await call('GET', '/paymasters')).toBe(401);

  await page.goto(`${origin}/console/#/changes?kind=DashboardToken`);
  await page.getByRole('cell', { name: 'deleted DashboardToken on-call' }).waitFor();
  await page.getByRole('button', { name: 'on-call', exact: true }).first().click();
  await page.getByRole('button', { name: 'Only on-call: show all' }).waitFor();
  expect(await page.content()).not.toContain(authToken);
  expect(await violationsOf(page)).toEqual([]);
  expect(faults).toEqual([]);
  await close();
});

test('a webhook is made, tried by a test delivery, and asked about the next operation', async () => {
  const asked: string[] = [];
  const host = createServer((request, response) => {
    asked.push(request.url ?? '');
    response
      .setHeader('content-type', 'application/json')
      .end('{"arePoliciesVerified":false,"reason":"not a member"}');
  });
  host.unref();
  await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve));
  const { port } = host.address() as AddressInfo;
  const { page, faults, close } = await signedIn();
  await page.goto(`${origin}/console/#/paymaster/shop`);
  await page.getByText('Add a webhook').click();
  const form = page.locator('form', { has: page.getByLabel('URL') });
  await form.getByLabel('Name').fill('members');
  await form.getByLabel('URL').fill(`http://127.0.0.1:${port}/check`);
  await page.keyboard.press('Enter');
  await page.getByText('“members” is asked about every operation').waitFor();
  await page.getByRole('button', { name: 'Send a test to members' }).click();
  await page
    .getByText(/“members” refused after \d+ ms: not a member. An operation would be refused./)
    .waitFor();
  expect(asked).toHaveLength(1);
  expect(await violationsOf(page)).toEqual([]);

  await page.getByText('Change a webhook').click();
  const change = page.locator('form', { has: page.getByLabel('Address that is asked') });
  await change.getByLabel('Address that is asked').fill(`http://127.0.0.1:${port}/moved`);
  await change.getByRole('button', { name: 'Save' }).click();
  await page.getByText(`“members” asks http://127.0.0.1:${port}/moved from now on.`).waitFor();
  await page.getByRole('button', { name: 'Send a test to members' }).click();
  await until('the new address is asked', () => asked.some((url) => url.startsWith('/moved')));
  expect(await violationsOf(page)).toEqual([]);
  await page.getByRole('button', { name: 'Pause members' }).click();
  await page.getByText('“members” is paused').waitFor();
  expect(faults).toEqual([]);
  await close();
  host.closeAllConnections();
  host.close();
});

test('a paymaster is suspended and resumed, and each next operation follows', async () => {
  const { page, faults, close } = await signedIn();
  await page.goto(`${origin}/console/#/paymaster/shop`);
  await page.getByRole('button', { name: 'Suspend this paymaster' }).click();
  await page.getByText('It sponsors nothing until').waitFor();
  expect(await asked()).toBe('refused');
  await page.getByRole('button', { name: 'Resume this paymaster' }).click();
  await page.getByText('It sponsors again.').waitFor();
  expect(await asked()).toBe('sponsored');
  expect(faults).toEqual([]);
  await close();
});

test('a paymaster is created, and a contract registered with the methods that were chosen', async () => {
  const connection = running.connection();
  const { page, faults, close } = await signedIn();
  await page.goto(`${origin}/console/#/paymaster`);
  await page.getByText('Create a paymaster').click();
  await page
    .locator('form', { has: page.getByLabel('Chain id') })
    .getByLabel('Name')
    .fill('My Game');
  await page.keyboard.press('Enter');
  await page.getByText('“My Game” is created.').waitFor();
  await page
    .getByRole('combobox', { name: 'Paymaster', exact: true })
    .selectOption({ label: `My Game (chain ${connection.chainId})` });
  await page.getByText('No contract is registered, so').waitFor();
  await page.getByText('anything is sponsored').waitFor();
  await page.getByText('Register a contract').first().click();
  const form = page.locator('form', { has: page.getByLabel('ABI') });
  await form.getByLabel('Name').fill('Game');
  await form.getByLabel('Address').fill(connection.sponsoredContract.address);
  await form.getByLabel('ABI').fill(anAbi);
  await form.getByLabel('mint').check();
  await form.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Calls of mint are paid for.').waitFor();
  await page.getByRole('cell', { name: 'Game', exact: true }).waitFor();
  const list = (await dashboard(connection, 'GET', '/paymaster')).body.data as {
    name: string;
    apiKey: string;
  }[];
  const { apiKey } = list.find(({ name }) => name === 'My Game')!;
  const contracts = await dashboard(connection, 'GET', '/smart-contract', { apiKey });
  expect(contracts.body.data).toMatchObject([{ name: 'Game', whitelistedMethods: ['mint'] }]);

  const minted = async (): Promise<unknown> => {
    const op = freshUserOp(connection);
    const callData = String(op['callData']).replace('d09de08a', id('mint(address)').slice(2, 10));
    const params = [
      { ...op, callData },
      { mode: 'SPONSORED', calculateGasLimits: false },
    ];
    const { result } = await rpc(rpcUrlFor(connection, apiKey), 'pm_sponsorUserOperation', params);
    return result?.['paymasterAndData'] === '0x' ? 'refused' : 'sponsored';
  };
  expect(await minted()).toBe('sponsored');
  await page.getByText('Change the methods of a contract').click();
  const change = page.locator('form', { has: page.getByRole('combobox', { name: 'Contract', exact: true }) });
  await change.getByLabel('mint').uncheck();
  await change.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Of “Game” calls of no method are paid for.').waitFor();
  expect(await minted()).toBe('refused');
  expect(await violationsOf(page)).toEqual([]);
  expect(faults).toEqual([]);
  await close();
});

test('the wallet that pays is changed by a wallet of the browser, and by a pasted signature', async () => {
  const [injected, elsewhere] = [Wallet.createRandom(), Wallet.createRandom()];
  const { page, context, faults, close } = await signedIn();
  await context.exposeFunction('signed', (hex: string) => injected.signMessage(getBytes(hex)));
  await page.addInitScript((address) => {
    const { signed } = globalThis as unknown as { signed(hex: string): Promise<string> };
    const request = async ({ method, params = [] }: { method: string; params?: string[] }) =>
      method === 'eth_requestAccounts' ? [address] : signed(params[0] ?? '');
    Object.assign(globalThis, { ethereum: { request } });
  }, injected.address);
  await page.goto(`${origin}/console/#/paymaster/my-game`);
  await page.reload();
  await page.getByRole('heading', { name: 'My Game' }).waitFor();
  await page.getByRole('button', { name: 'Change it to the wallet of this browser' }).click();
  await page.getByText(`${injected.address} pays from now on.`).waitFor();

  await page.getByText('Change it by a signature from elsewhere').click();
  await page.getByRole('button', { name: 'Get the message' }).click();
  const message = await page.locator('form pre').innerText();
  await page.getByLabel('Address of the wallet').fill(elsewhere.address);
  await page.getByLabel('Signature', { exact: true }).fill(await injected.signMessage(message));
  const form = page.locator('form', { has: page.getByLabel('Address of the wallet') });
  await form.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('alert').waitFor();
  await page.getByLabel('Signature', { exact: true }).fill(await elsewhere.signMessage(message));
  await form.getByRole('button', { name: 'Save' }).click();
  await page.getByText(`${elsewhere.address} pays from now on.`).waitFor();
  expect(await violationsOf(page)).toEqual([]);
  const { authToken } = running.connection();
  const shown = await fetch(`${origin}/manage/v1/paymasters/my-game`, { headers: { authToken } });
  expect(await shown.json()).toMatchObject({ data: { spec: { funding: { address: elsewhere.address } } } });
  expect(faults.filter((fault) => !fault.includes('400'))).toEqual([]);
  await close();
});

test('an apiKey is replaced, and the one before works for a while', async () => {
  const { page, faults, close } = await signedIn();
  const before = (await dashboard(running.connection(), 'GET', '/paymaster')).body.data as {
    name: string;
    apiKey: string;
    chainId: number;
  }[];
  await page.goto(`${origin}/console/#/paymaster/my-game`);
  await page.getByRole('heading', { name: 'My Game' }).waitFor();
  await page.getByText('Give it a new apiKey').click();
  const form = page.locator('form', { has: page.getByLabel('The present one works for') });
  // Two new keys at once would end the one that wallets have: only the last but one overlaps.
  await form.getByRole('button', { name: 'Save' }).dblclick();
  await page.getByText(/It has a new apiKey. The one before works until/).waitFor();
  // Later, too, the page does not end a key that wallets may still have.
  await form.getByRole('button', { name: 'Save' }).click();
  await page.getByText(/The key before the present one works until/).waitFor();
  const after = (await dashboard(running.connection(), 'GET', '/paymaster')).body.data as typeof before;
  const keyOf = (all: typeof before) => all.find(({ name }) => name === 'My Game')?.apiKey ?? '';
  expect(keyOf(after)).not.toBe(keyOf(before));
  const [{ chainId } = { chainId: 0 }] = before;
  for (const key of [keyOf(before), keyOf(after)]) {
    const answer = await rpc(
      `${new URL(running.connection().rpcUrl).origin}/api/v1/${chainId}/${key}`,
      'pm_supportedEntryPoints',
      [],
    );
    expect(answer.error).toBeUndefined();
  }
  expect(faults.filter((fault) => !fault.includes('409'))).toEqual([]);
  await close();
});

test('problems are on the overview and on another page, with what to do', async () => {
  const connection = running.connection();
  const { apiKey } = await aPaymaster('Elsewhere');
  const address = '0x00000000000000000000000000000000000000C1';
  const body = { name: 'not deployed', address, abi: anAbi, whitelistedMethods: ['mint'] };
  expect((await dashboard(connection, 'POST', '/smart-contract', { apiKey, body })).status).toBe(200);
  await until('the operator has looked for its code', async () => {
    const answer = await fetch(`${origin}/manage/v1/contracts`, {
      headers: { authToken: connection.authToken },
    });
    return (await answer.text()).includes('has no code');
  });
  const { page, close } = await signedIn();
  await page.getByRole('heading', { name: 'What is wrong' }).waitFor();
  await page.getByText('has no code on this chain').waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await page.getByRole('link', { name: 'All of it' }).click();
  await page.getByRole('heading', { name: 'Somebody has to do something' }).waitFor();
  const row = page.getByRole('row', { name: /not deployed/ });
  expect(await row.textContent()).toMatch(
    /^warning.*has no code on this chain.*Check the address, or deploy/,
  );
  expect(await page.getByRole('row', { name: /Elsewhere/ }).textContent()).toMatch(/has no active limit/);
  expect(await violationsOf(page)).toEqual([]);
  await close();
});

/** Texts that a tenant may choose, or a wallet may send, as somebody would who wants to act as the owner. */
test('no text runs as a script', async () => {
  const connection = running.connection();
  const evil = `<img src=x onerror="document.title='run'"><script>document.title='run'</script>`;
  const { apiKey } = await aPaymaster(evil);
  const contract = {
    name: evil,
    address: connection.sponsoredContract.address,
    abi: anAbi,
    whitelistedMethods: ['mint'],
  };
  const made = [
    await dashboard(connection, 'POST', '/smart-contract', { apiKey, body: contract }),
    await dashboard(connection, 'POST', '/paymaster-policy', {
      apiKey,
      body: { name: evil, policyType: 'WALLET_DEPLOYMENT', policyData: {} },
    }),
  ];
  expect(made.map(({ status }) => status)).toEqual([200, 200]);
  await rpc(
    rpcUrlFor(connection, apiKey),
    'pm_sponsorUserOperation',
    [freshUserOp(connection), { mode: 'SPONSORED', calculateGasLimits: false }],
    { 'x-request-id': evil.replaceAll(' ', '/') },
  );
  const { page, faults, close } = await signedIn();
  await page.goto(`${origin}/console/#/paymaster`);
  await page
    .getByRole('combobox', { name: 'Paymaster', exact: true })
    .selectOption({ label: `${evil} (chain ${connection.chainId})` });
  await page.getByRole('button', { name: `Pause ${evil}` }).waitFor();
  expect(await page.getByRole('cell', { name: evil }).count()).toBeGreaterThan(1);
  for (const path of ['activity', 'usage?range=15m&groupBy=contract', 'playground', 'overview']) {
    await page.goto(`${origin}/console/#/${path}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    if (path !== 'overview') await page.getByRole('option', { name: evil }).waitFor({ state: 'attached' });
    expect(await page.title()).not.toBe('run');
    expect(await page.locator('main img').count()).toBe(0);
  }
  expect(faults).toEqual([]);
  await close();
});

test.each(['paymaster', 'activity', 'usage', 'playground'])(
  'a paymaster with a long name makes %s no wider than a phone',
  async (path) => {
    const name = 'A paymaster with quite a long name that somebody has typed';
    await aPaymaster(`${name}: ${path}`);
    const { page, close } = await signedIn({ viewport: { width: 390, height: 844 } });
    await page.goto(`${origin}/console/#/${path}`);
    await page.getByRole('option', { name }).first().waitFor({ state: 'attached' });
    const wider = await page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
    expect(wider).toBeLessThanOrEqual(0);
    await close();
  },
);

async function aPaymaster(name: string): Promise<{ readonly apiKey: string }> {
  const connection = running.connection();
  const body = { name, type: 'HYBRID', chainId: connection.chainId, version: '1.1.0' };
  const answer = await dashboard(connection, 'POST', '/paymaster', { body });
  expect(answer.status).toBe(200);
  return answer.body.data as { apiKey: string };
}
