import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Wallet } from 'ethers';
import type { Page } from 'playwright-core';
import {
  removeDataDirectory,
  startStandalone,
  type RunningStandalone,
} from '../system/support/standalone.js';
import { useBrowser, violationsOf } from './support/browser.js';
import { press, write } from './support/keyboard.js';
import { game, writes } from './support/writes.js';

// Every change that the console offers, by somebody who has a keyboard alone, followed to the resource.

const visit = useBrowser();
const host = createServer((_request, response) =>
  response.setHeader('content-type', 'application/json').end('{"arePoliciesVerified":true}'),
);
const wallet = Wallet.createRandom();
let running: RunningStandalone;
let cookies: Awaited<ReturnType<Awaited<ReturnType<typeof visit>>['context']['storageState']>>;
let hostUrl: string;

beforeAll(async () => {
  running = await startStandalone();
  host.unref();
  await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve));
  hostUrl = `http://127.0.0.1:${(host.address() as AddressInfo).port}`;
  const { dashboardUrl, authToken } = running.connection();
  const { page, context, close } = await visit(dashboardUrl);
  await page.goto(`${dashboardUrl}/console/`);
  await write('Token', authToken)(page);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  cookies = await context.storageState();
  await close();
}, 300_000);
afterAll(async () => {
  host.closeAllConnections();
  host.close();
  running?.signal('SIGKILL');
  await running?.ended;
  if (running !== undefined) removeDataDirectory(running.dataDirectory);
});

async function opened(path: string, options: Parameters<typeof visit>[1] = {}) {
  const { dashboardUrl } = running.connection();
  const opening = await visit(dashboardUrl, { ...options, storageState: cookies });
  await opening.page.goto(`${dashboardUrl}/console/#/${path}`);
  await opening.page.getByRole('heading', { level: 1 }).waitFor();
  return opening;
}

async function read(path: string): Promise<Record<string, unknown>> {
  const { dashboardUrl, authToken } = running.connection();
  const response = await fetch(`${dashboardUrl}/manage/v1${path}`, { headers: { authToken } });
  return ((await response.json()) as { data?: Record<string, unknown> }).data ?? {};
}

test.each(writes)('$name', async ({ at, strokes, says, path, want }) => {
  const around = { hostUrl, contract: running.connection().sponsoredContract.address, wallet };
  const { page, faults, close } = await opened(at);
  for (const stroke of strokes(around)) await stroke(page);
  await page
    .getByText(typeof says === 'function' ? says(around) : says)
    .first()
    .waitFor();
  expect(await read(path)).toMatchObject(typeof want === 'function' ? want(around) : want);
  expect(faults).toEqual([]);
  await close();
});

describe.each([
  { name: 'in light', options: { colorScheme: 'light' } },
  { name: 'in dark', options: { colorScheme: 'dark' } },
  { name: 'at 200 % zoom', options: { viewport: { width: 640, height: 450 } } },
] as const)('with every form open, $name', ({ options }) => {
  test.each([[game], ['tokens'], ['replay'], ['playground']])(
    '%s is accessible and not cut',
    async (path) => {
      const { page, close } = await opened(path, options);
      await ready(page, path);
      await page.evaluate(() => {
        for (const details of document.querySelectorAll('details')) details.open = true;
      });
      expect(await violationsOf(page)).toEqual([]);
      const overflow = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      expect(overflow).toBeLessThanOrEqual(0);
      await close();
    },
  );
});

test.each([[game], ['overview'], ['activity'], ['usage']])(
  '%s moves nothing for somebody who asks for less motion',
  async (path) => {
    const { page, close } = await opened(path, { reducedMotion: 'reduce' });
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
    await close();
  },
);

/** All of the page is there once what comes last is. */
async function ready(page: Page, path: string): Promise<void> {
  if (path === game) await page.getByRole('button', { name: 'Pause Members' }).waitFor();
  await page.getByText('Loading…').first().waitFor({ state: 'detached' });
}

test('signs out', async () => {
  const { page, faults, close } = await opened('overview');
  await press('Sign out')(page);
  await page.getByLabel('Token').waitFor();
  await page.reload();
  await page.getByLabel('Token').waitFor();
  expect(faults).toEqual([]);
  await close();
});
