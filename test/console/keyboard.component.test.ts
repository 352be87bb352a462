import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { contrastsOf, cutIn, desktop, violationsOf } from './support/browser.js';
import { useConsole, type ConsoleOptions } from './support/console.js';
import { press } from './support/keyboard.js';
import { game, writes } from './support/writes.js';
import { newWallet } from '../support/new-wallet.js';

// Every change that the console offers, by somebody who has a keyboard alone, followed to the resource.

const { connection, open } = useConsole('keyboard');
const host = createServer((_request, response) =>
  response.setHeader('content-type', 'application/json').end('{"arePoliciesVerified":true}'),
);
const wallet = newWallet();
let hostUrl: string;

beforeAll(async () => {
  host.unref();
  await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve));
  hostUrl = `http://127.0.0.1:${(host.address() as AddressInfo).port}`;
});
afterAll(() => {
  host.closeAllConnections();
  host.close();
});

async function opened(path: string, options: ConsoleOptions = {}) {
  const opening = await open(path, options);
  await opening.page.getByRole('heading', { level: 1 }).waitFor();
  return opening;
}

async function read(path: string): Promise<Record<string, unknown>> {
  const { dashboardUrl, authToken } = connection();
  const response = await fetch(`${dashboardUrl}/manage/v1${path}`, { headers: { authToken } });
  return ((await response.json()) as { data?: Record<string, unknown> }).data ?? {};
}

test.each(writes)('$name', async ({ at, strokes, says, path, want }) => {
  const around = { hostUrl, contract: connection().sponsoredContract.address, wallet };
  const { page, faults } = await opened(at);
  for (const stroke of strokes(around)) await stroke(page);
  await page
    .getByText(typeof says === 'function' ? says(around) : says)
    .first()
    .waitFor();
  expect(await read(path)).toMatchObject(typeof want === 'function' ? want(around) : want);
  expect(faults).toEqual([]);
});

test.each([[game], ['tokens'], ['what-if'], ['playground']])(
  'with every form open %s is accessible in light and dark, and is not cut at 200 %% zoom',
  async (path) => {
    const { page } = await opened(path, { colorScheme: 'light' });
    await ready(page, path);
    for (const viewport of [desktop, { width: 640, height: 450 }])
      expect(await cutIn(page, viewport)).toEqual([]);
    expect(await violationsOf(page)).toEqual([]);
    expect(await contrastsOf(page, 'dark')).toEqual([]);
  },
);

test.each([[game], ['overview'], ['activity'], ['money'], ['usage']])(
  '%s moves nothing for somebody who asks for less motion',
  async (path) => {
    const { page } = await opened(path, { reducedMotion: 'reduce' });
    await ready(page, path);
    const moving = await page.evaluate(() =>
      [document.documentElement, ...document.querySelectorAll('*')]
        .filter((element) => {
          const { animationName, transitionDuration, scrollBehavior } = getComputedStyle(element);
          return (
            animationName !== 'none' || !/^0s(, 0s)*$/.test(transitionDuration) || scrollBehavior === 'smooth'
          );
        })
        .map(({ tagName, className }) => `${tagName} ${String(className)}`),
    );
    expect(moving).toEqual([]);
    expect(await page.evaluate(() => document.getAnimations().length)).toBe(0);
  },
);

/** All of the page is there once what comes last is. */
async function ready(page: Page, path: string): Promise<void> {
  if (path === game) await page.getByRole('button', { name: 'Pause Members' }).waitFor();
  await page.getByText('Loading…').first().waitFor({ state: 'detached' });
}

test('signs out', async () => {
  const { page, faults } = await opened('overview');
  await press('Sign out')(page);
  await page.getByLabel('Token').waitFor();
  await page.reload();
  await page.getByLabel('Token').waitFor();
  // What the page was asking when its session ended is refused.
  expect(faults.filter((fault) => !fault.includes('401'))).toEqual([]);
});
