import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { until } from '../support/until.js';
import { contrastsOf, cutIn, violationsOf } from './support/browser.js';
import { useConsole } from './support/console.js';
import { tabTo } from './support/keyboard.js';
import { askForThree } from './support/three-operations.js';

// Times, addresses, plots and tables are the same on every page.

const { connection, create, open, page: pageOfFile, visit } = useConsole('details');
beforeAll(async () => {
  await askForThree(connection());
  await create('tokens', 'robot', undefined, { scopes: ['read'] });
  await pageOfFile().context().grantPermissions(['clipboard-read', 'clipboard-write']);
  // Axes are drawn, so what they say is taken down where it is drawn.
  await pageOfFile().addInitScript(() => {
    const drawn: string[][] = [];
    const { fillText } = CanvasRenderingContext2D.prototype;
    CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...more) {
      const axis = this.textAlign === 'center' ? 'x' : 'y';
      drawn.push([axis, text, String(Math.round(x)), String(Math.round(y))]);
      fillText.call(this, text, x, y, ...more);
    };
    Object.assign(globalThis, { drawn });
  });
});

/** Labels of each axis, each place once: a plot is drawn anew when its width changes. */
async function labelsOf(page: Page): Promise<Readonly<Record<string, readonly string[]>>> {
  const drawn = await page.evaluate(() => (globalThis as unknown as { drawn: string[][] }).drawn);
  const places = new Map(drawn.map(([axis, text, x, y]) => [`${axis} ${x} ${y}`, { axis, text }]));
  const of = (name: string) =>
    [...places.values()]
      .filter(({ axis, text }) => axis === name && text !== '')
      .map(({ text }) => text ?? '');
  return { x: of('x'), y: of('y') };
}

describe('a plot', () => {
  test.each(['15m', '1h', '24h', '7d', '30d', '1y'])(
    'of %s says nothing twice at an axis, also on a phone',
    async (range) => {
      for (const width of [1280, 390]) {
        const { page } = await open(`usage?range=${range}`, { viewport: { width, height: 844 } });
        await page.locator('canvas').waitFor();
        const labels = await labelsOf(page);
        for (const [axis, texts] of Object.entries(labels)) {
          expect(texts.length).toBeGreaterThan(1);
          expect({ axis, width, texts }).toEqual({ axis, width, texts: [...new Set(texts)] });
        }
      }
    },
  );

  test('shows the figures of the step that somebody points at', async () => {
    const { page, faults } = await open('overview?range=24h');
    const plot = page.getByRole('group', { name: /^Operations, step by step/ });
    await plot.locator('canvas').waitFor();
    const { width, height } = (await plot.boundingBox())!;
    expect(await plot.locator('.tip').count()).toBe(0);
    // The last hour is at the right end.
    await plot.hover({ position: { x: width - 30, y: height / 2 } });
    // The hour may have turned since they were asked for.
    await plot
      .locator('.tip')
      .getByText(/Sponsored [02]$/)
      .waitFor();
    await plot
      .locator('.tip')
      .getByText(/Refused [01]$/)
      .waitFor();
    expect(await plot.locator('.tip time').getAttribute('title')).toMatch(/ UTC$/);
    await page.mouse.move(0, 0);
    await plot.locator('.tip').waitFor({ state: 'detached' });
    expect(faults).toEqual([]);
  });

  test('goes from step to step by arrow keys, and says each aloud', async () => {
    const { page } = await open('overview?range=24h');
    const plot = page.getByRole('group', { name: /^Operations, step by step/ });
    await plot.locator('canvas').waitFor();
    await tabTo(page, /^Operations, step by step/);
    await page.keyboard.press('ArrowLeft');
    await plot
      .getByRole('status')
      .getByText(/Sponsored [02]\b/)
      .waitFor();
    const first = await plot.getByRole('status').textContent();
    await page.keyboard.press('ArrowLeft');
    await plot
      .getByRole('status')
      .filter({ hasNotText: first! })
      .getByText(/Sponsored [02]\b/)
      .waitFor();
    expect(await violationsOf(page)).toEqual([]);
    expect(await contrastsOf(page, 'dark')).toEqual([]);
    const phone = { width: 390, height: 844 };
    await page.setViewportSize(phone);
    await plot.locator('.tip').waitFor({ state: 'detached' });
    for (const key of ['ArrowLeft', 'ArrowRight', 'ArrowRight'])
      for (let presses = 0; presses < 13; presses += 1) await page.keyboard.press(key);
    await plot.locator('.tip').waitFor();
    expect(await cutIn(page, phone)).toEqual([]);
    await page.keyboard.press('Escape');
    await plot.locator('.tip').waitFor({ state: 'detached' });
  });
});

test('every time is in the zone of the reader, with UTC in its hint', async () => {
  const { dashboardUrl, authToken } = connection();
  const { page, faults, close } = await visit({ timezoneId: 'Asia/Tokyo' });
  await page.goto(`${dashboardUrl}/console/`);
  await page.getByLabel('Token').fill(authToken);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  for (const path of ['activity', 'usage', 'problems', 'tokens', 'overview', 'paymaster/shop']) {
    await page.goto(`${dashboardUrl}/console/#/${path}`);
    await page.locator('main h1').waitFor();
    await page.getByText('Loading…').first().waitFor({ state: 'detached' });
    for (const each of await page.locator('summary').all()) await each.click();
    const bare = await page.evaluate(() => {
      const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      const found: string[] = [];
      while (texts.nextNode()) {
        const { parentElement, textContent } = texts.currentNode;
        if (
          /\d{4}-\d\d-\d\d.\d\d:\d\d/.test(textContent ?? '') &&
          !parentElement?.closest('time, pre, textarea')
        )
          found.push(textContent ?? '');
      }
      return found;
    });
    expect({ path, bare }).toEqual({ path, bare: [] });
    const wrong = await page.locator('time').evaluateAll((all) =>
      all
        .map((each) => {
          const at = Date.parse(each.getAttribute('datetime') ?? '');
          const [local, utc] = [each.textContent ?? '', each.getAttribute('title') ?? ''];
          const shown = new Date(at + 9 * 3_600_000).toISOString().slice(0, 19).replace('T', ' ');
          return utc.endsWith(' UTC') && local === shown ? '' : `${local} (${utc})`;
        })
        .filter((each) => each !== ''),
    );
    expect({ path, wrong }).toEqual({ path, wrong: [] });
  }
  expect(faults).toEqual([]);
  await close();
});

describe('an address', () => {
  const explorer = 'https://explorer.example/testnet';
  const withExplorer = (page: Page, of: string | null) =>
    page.route('**/manage/v1/chains', (route) => {
      const chain = {
        chainId: 31337,
        name: 'dev',
        symbol: 'ETH',
        explorer: of,
        suspended: false,
        versions: [],
      };
      return route.fulfill({ json: { data: { items: [chain], nextCursor: null } } });
    });

  test('leads to the explorer of its chain, and is copied whole', async () => {
    const { page, faults } = await open('overview', { answers: (on) => withExplorer(on, explorer) });
    const cell = page.getByRole('cell', { name: /^Deposit of contract/ });
    const link = cell.getByRole('link');
    await link.waitFor();
    const address = await link.locator('code').getAttribute('title');
    expect(address).toMatch(/^0x[0-9a-f]{40}$/);
    expect(await link.getAttribute('href')).toBe(`${explorer}/address/${address}`);
    expect(await link.getAttribute('rel')).toBe('noopener noreferrer');
    await cell.getByRole('button', { name: 'Copy contract with the deposit' }).click();
    // That it was copied is said for two seconds.
    await until(
      'it is copied',
      async () => (await page.evaluate(() => navigator.clipboard.readText())) === address,
    );
    expect(await violationsOf(page)).toEqual([]);
    expect(faults).toEqual([]);
  });

  test('is a text where the chain has none, and amounts have the symbol of its coin', async () => {
    const { page } = await open('overview', { answers: (on) => withExplorer(on, null) });
    await page
      .getByRole('cell', { name: /^[\d.,]+ ETH [\d.,]+ USD$/ })
      .first()
      .waitFor();
    expect(
      await page
        .getByRole('cell', { name: /^Deposit of contract/ })
        .getByRole('link')
        .count(),
    ).toBe(0);
  });

  test('of a decision leads there, and so does its transaction, once it is mined', async () => {
    const hash = `0x${'ab'.repeat(32)}`;
    const { page } = await open('activity?verdict=sponsored', {
      answers: async (on) => {
        await withExplorer(on, explorer);
        await on.route(/\/manage\/v1\/decisions\/.+/, async (route) => {
          const response = await route.fetch();
          const { data } = (await response.json()) as { readonly data: object };
          const mined = { outcome: 'mined', at: '2026-01-01T00:00:00.000Z', success: true, takenBack: 0 };
          const cost = { actualGasCost: '0.1', actualGasCostWei: '1', actualGasUsed: '1', token: null };
          const settlement = { ...mined, ...cost, transactionHash: hash, blockNumber: 12 };
          await route.fulfill({ json: { data: { ...data, settlement } } });
        });
      },
    });
    await page.getByRole('row', { name: 'counter.increment' }).first().getByRole('link').first().click();
    const ended = page.getByRole('region', { name: 'How it ended' });
    await ended.getByRole('link', { name: hash }).waitFor();
    const links = page.locator('main a[target="_blank"]');
    const hrefs = await links.evaluateAll((all) => all.map((each) => each.getAttribute('href') ?? ''));
    expect(hrefs).toEqual([
      expect.stringMatching(/^https:\/\/explorer\.example\/testnet\/address\/0x[0-9a-f]{40}$/),
      `${explorer}/block/12`,
      `${explorer}/tx/${hash}`,
    ]);
    await ended.getByText('0.1 ETH').waitFor();
    expect(await cutIn(page, { width: 390, height: 844 })).toEqual([]);
  });
});

test('tables of figures sort by what they mean: the largest first, then the smallest', async () => {
  const { page } = await open('usage?groupBy=reason');
  const table = page.getByRole('table', { name: 'All figures' });
  await table.waitFor();
  const refused = () => table.locator('td[data-name="Refused"]').allTextContents();
  await table.getByRole('button', { name: 'Refused' }).click();
  expect(await refused()).toEqual(['1', '0']);
  await table.getByRole('button', { name: 'Refused' }).click();
  expect(await refused()).toEqual(['0', '1']);
  expect(await table.getByRole('columnheader', { name: 'Refused' }).getAttribute('aria-sort')).toBe(
    'ascending',
  );
});

test.each([
  ['activity', 'Decisions'],
  ['activity?follow=yes', 'Decisions'],
  ['changes', 'Changes'],
])(
  '%s says in which order the server has the rows, of which a page is a part, and sorts none',
  async (path, caption) => {
    const { page } = await open(path);
    const table = page.getByRole('table', { name: caption });
    const heading = table.getByRole('columnheader', { name: 'When, newest first', exact: true });
    await heading.waitFor();
    expect(await heading.getAttribute('aria-sort')).toBe('descending');
    expect(await table.locator('thead').getByRole('button').count()).toBe(0);
    expect(await table.locator('th[aria-sort]').count()).toBe(1);
  },
);
