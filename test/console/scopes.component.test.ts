import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import type { TokenScope } from '../../core/resources/dashboard-token.js';
import { freshUserOp } from '../system/support/client.js';
import { contrastsOf, violationsOf, type Visit } from './support/browser.js';
import { until } from '../support/until.js';
import { agree, useConsole } from './support/console.js';
import { press, sees } from './support/keyboard.js';
import { askForThree } from './support/three-operations.js';

// What the console shows somebody whose token may not do everything: nothing that is refused, and all that is not.

const { connection, visit } = useConsole('scopes');
beforeAll(() => askForThree(connection()));
afterEach(async () => {
  const { dashboardUrl, authToken } = connection();
  const resumed = await fetch(`${dashboardUrl}/manage/v1/paymasters/shop/resume`, {
    method: 'POST',
    headers: { authToken },
  });
  expect(resumed.status).toBe(200);
});

const everyPage = [
  'Overview',
  'Problems',
  'Paymasters',
  'Activity',
  'Money',
  'Usage',
  'What-if',
  'Playground',
  'Changes',
  'Tokens',
];
const paths = [
  'overview',
  'problems',
  'paymaster',
  'activity',
  'money',
  'usage',
  'what-if',
  'playground',
  'changes',
  'tokens',
];

type Case = {
  readonly scopes: readonly TokenScope[];
  /** In the navigation. */
  readonly pages: readonly string[];
  /** Buttons, and lines that open forms, by page: each of these, and no other. Absent: others look at them. */
  readonly controls?: Readonly<Record<string, readonly (string | RegExp)[]>>;
};

const seeing = {
  Overview: ['Show as a table'],
  Money: ['Save statement as CSV'],
  Usage: ['Show as a table', 'Save as CSV'],
} as const;
const reading = {
  ...seeing,
  Activity: ['Follow', 'Save as CSV'],
  'What-if': ['Ask', 'Begin with an example'],
  Playground: ['Explain', 'Build', 'Build one: a call of a contract'],
  Changes: [/^(robot-.*|shop)$/],
} as const;
const stopping = { Paymasters: ['Suspend shop (chain 31337)'] } as const;

const cases: readonly Case[] = [
  { scopes: ['read'], pages: everyPage, controls: reading },
  { scopes: ['stop'], pages: ['Problems', 'Paymasters'], controls: stopping },
  { scopes: ['finance'], pages: ['Overview', 'Money', 'Usage'], controls: seeing },
  { scopes: ['read', 'stop'], pages: everyPage, controls: { ...reading, ...stopping } },
  { scopes: ['write'], pages: everyPage },
];

const tokens = new Map<string, Promise<string>>();

function tokenWith(scopes: readonly TokenScope[]): Promise<string> {
  const name = scopes.join('-');
  const token = tokens.get(name) ?? aToken(scopes);
  tokens.set(name, token);
  return token;
}

async function aToken(scopes: readonly TokenScope[]): Promise<string> {
  const { dashboardUrl, authToken } = connection();
  const response = await fetch(`${dashboardUrl}/manage/v1/tokens`, {
    method: 'POST',
    headers: { authToken, 'content-type': 'application/json' },
    body: JSON.stringify({ name: `robot-${scopes.join('-')}`, scopes }),
  });
  return ((await response.json()) as { data: { token: string } }).data.token;
}

/** Signed in with a new token; `refused` lists what the server refused to the page. */
async function signedIn(
  scopes: readonly TokenScope[],
): Promise<Visit & { readonly url: string; readonly refused: string[] }> {
  const opened = await visit();
  const { page } = opened;
  const refused: string[] = [];
  page.on('response', (response) => {
    if ([401, 403].includes(response.status())) refused.push(`${response.status()} ${response.url()}`);
  });
  const url = `${connection().dashboardUrl}/console/`;
  await page.goto(url);
  await page.getByLabel('Token').fill(await tokenWith(scopes));
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  return { ...opened, url, refused };
}

const hrefsOf = (links: Locator) =>
  links.evaluateAll((all) => all.map((each) => each.getAttribute('href') ?? ''));
const navigation = (page: Page) => page.getByRole('navigation').locator('a:not(.skip)');

async function settled(page: Page): Promise<void> {
  await page.locator('main h1').first().waitFor();
  await page.locator('main').getByText('Loading…').first().waitFor({ state: 'detached' });
}

/** Visible names of what can be pressed on a page. */
async function controlsOf(page: Page): Promise<readonly string[]> {
  return page
    .locator('main')
    .locator('button:not(.sort, .copy), summary')
    .evaluateAll((all) => [
      ...new Set(
        all
          .map((each) => each.getAttribute('aria-label') ?? each.textContent ?? '')
          .filter((name) => name !== ''),
      ),
    ]);
}

/** What is offered and not wanted, and what is wanted and not offered. */
function differenceOf(
  offered: readonly string[],
  wanted: readonly (string | RegExp)[],
): readonly (string | RegExp)[] {
  const fits = (each: string, want: string | RegExp): boolean =>
    typeof want === 'string' ? want === each : want.test(each);
  return [
    ...offered.filter((each) => !wanted.some((want) => fits(each, want))),
    ...wanted.filter((want) => !offered.some((each) => fits(each, want))),
  ];
}

/** Presses every button, and agrees where the page asks. */
async function pressAll(page: Page): Promise<void> {
  for (const text of await page.locator('main textarea').all())
    await text.fill(JSON.stringify(freshUserOp(connection())));
  const names = await page
    .locator('main button:visible:not(.sort, .copy)')
    .evaluateAll((all) => all.map((each) => each.getAttribute('aria-label') ?? each.textContent ?? ''));
  for (const name of names) {
    const button = page.locator('main').getByRole('button', { name, exact: true }).first();
    // A press may have taken it away.
    if (await button.isVisible()) await button.click();
    const [asked] = /^(Suspend|Resume|Pause|Revoke)(?= )/.exec(name) ?? [];
    if (asked !== undefined) await agree(page, asked);
    await page.waitForLoadState('networkidle');
  }
}

describe.each(cases)('a token with $scopes', ({ scopes, pages, controls }) => {
  test('sees pages without an error, asks for nothing that is refused, and may do what it is offered', async () => {
    const { page, faults, refused, close } = await signedIn(scopes);
    await settled(page);
    expect(await navigation(page).allTextContents()).toEqual(pages);
    for (const name of pages) {
      await navigation(page).getByText(name, { exact: true }).click();
      await settled(page);
      await page.waitForLoadState('networkidle');
      expect(await page.locator('main').getByRole('alert').allTextContents()).toEqual([]);
      const known = await hrefsOf(navigation(page));
      const links = await hrefsOf(page.locator('main a[href^="#/"]'));
      const dead = links.filter((href) => !known.some((each) => href.startsWith(each)));
      expect({ name, dead }).toEqual({ name, dead: [] });
      if (controls === undefined) continue;
      const wanted = controls[name] ?? [];
      const difference = async () => differenceOf(await controlsOf(page), wanted);
      // A form comes when what it is about has been read.
      const isAsWanted = async () => (await difference()).length === 0;
      await until(`${name} offers what it should`, isAsWanted, 60_000).catch(() => {});
      expect({ name, difference: await difference() }).toEqual({ name, difference: [] });
      await pressAll(page);
    }
    expect(refused).toEqual([]);
    // The text that was typed is not a proposal; everything else is answered.
    expect(faults.filter((fault) => !fault.includes('400'))).toEqual([]);
    await close();
  });
});

test.each(cases.filter(({ pages }) => pages.length < everyPage.length))(
  'a token with $scopes is told by a link to another page which scope that needs, and asks nothing there',
  async ({ scopes, pages }) => {
    const { page, url, faults, refused, close } = await signedIn(scopes);
    for (const path of paths.filter((_path, at) => !pages.includes(everyPage[at] ?? ''))) {
      await page.goto(`${url}#/${path}`);
      await page.getByText(/^This page needs a token with the scope .*write\. The token “robot-/).waitFor();
    }
    await page.waitForLoadState('networkidle');
    expect(await violationsOf(page)).toEqual([]);
    expect({ refused, faults }).toEqual({ refused: [], faults: [] });
    await close();
  },
);

test('somebody who may only stop suspends a paymaster by keyboard, and sees that he cannot resume it', async () => {
  const { page, refused, close } = await signedIn(['stop']);
  await press('Paymasters')(page);
  await press('Suspend shop (chain 31337)')(page);
  await sees('It sponsors nothing until somebody resumes it, which needs the scope write')(page);
  expect(await violationsOf(page)).toEqual([]);
  expect(await contrastsOf(page, 'dark')).toEqual([]);
  await press('Suspend')(page);
  await sees('“shop” is suspended')(page);
  // The list is read again.
  await page
    .getByRole('row')
    .filter({ hasText: /shop.*suspended$/ })
    .waitFor();
  expect(refused).toEqual([]);
  await close();
});
