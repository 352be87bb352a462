import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { newWallet } from '../../support/new-wallet.js';
import { contrastsOf, cutIn, desktop, violationsOf } from './browser.js';
import { useConsole, type ConsoleOptions } from './console.js';
import { game, type Write } from './writes.js';

/** Tests of somebody who has a keyboard alone, in an organisation of the file's own, whose name is given. */
export function useKeyboard(organisation: string) {
  const { connection, create, open } = useConsole(organisation);
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

  /** Each is followed to the resource. */
  function follows(writes: readonly Write[]): void {
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
  }

  function isAccessible(paths: readonly string[]): void {
    test.each(paths)(
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
  }

  function movesNothing(paths: readonly string[]): void {
    test.each(paths)('%s moves nothing for somebody who asks for less motion', async (path) => {
      const { page } = await opened(path, { reducedMotion: 'reduce' });
      await ready(page, path);
      const moving = await page.evaluate(() =>
        [document.documentElement, ...document.querySelectorAll('*')]
          .filter((element) => {
            const { animationName, transitionDuration, scrollBehavior } = getComputedStyle(element);
            return (
              animationName !== 'none' ||
              !/^0s(, 0s)*$/.test(transitionDuration) ||
              scrollBehavior === 'smooth'
            );
          })
          .map(({ tagName, className }) => `${tagName} ${String(className)}`),
      );
      expect(moving).toEqual([]);
      expect(await page.evaluate(() => document.getAnimations().length)).toBe(0);
    });
  }

  return { create, opened, follows, isAccessible, movesNothing };
}

/** All of the page is there once what comes last is. */
async function ready(page: Page, path: string): Promise<void> {
  if (path === game) await page.getByRole('button', { name: 'Pause Members' }).waitFor();
  await page.getByText('Loading…').first().waitFor({ state: 'detached' });
}
