import { describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { contrastsOf, violationsOf } from './support/browser.js';
import { useConsole } from './support/console.js';

// What a session says that begins or ends.

const { connection, open, visit } = useConsole('sessions');

describe('a session', () => {
  const signIn = async (page: Page, token: string): Promise<void> => {
    await page.getByLabel('Token').fill(token);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
  };
  /** As a page does that is online again. */
  const askNow = (page: Page) => page.evaluate(() => dispatchEvent(new Event('online')));
  const aToken = async (name: string): Promise<string> => {
    const { dashboardUrl, authToken } = connection();
    const answer = await fetch(`${dashboardUrl}/manage/v1/tokens`, {
      method: 'POST',
      headers: { authToken },
      body: JSON.stringify({
        name,
        scopes: ['read'],
        expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
      }),
    });
    return ((await answer.json()) as { data: { token: string } }).data.token;
  };

  test.each([
    {
      name: 'its token expires',
      passedMs: 3_700_000,
      says: 'Your session has ended: its token has expired.',
    },
    {
      name: 'its hours have passed',
      passedMs: 13 * 3_600_000,
      says: 'Your session has ended: twelve hours have passed.',
    },
    {
      name: 'its token is revoked',
      passedMs: 0,
      says: 'Your session has ended: its token was revoked, or you signed out in another tab.',
    },
  ])('that ends because $name says so', async ({ name, passedMs, says }) => {
    const { page, close } = await visit();
    await page.goto(`${connection().dashboardUrl}/console/`);
    await signIn(page, await aToken(name.replaceAll(' ', '-')));
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.getByText('until').first().waitFor();
    // The reader's clock moves; the server refuses from now on.
    await page.evaluate((ms) => {
      const { now } = Date;
      Date.now = () => now() + ms;
    }, passedMs);
    await page.route('**/manage/v1/**', (route) =>
      route.fulfill({ status: 401, json: { detail: 'No session' } }),
    );
    await askNow(page);
    await page.getByText(says).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    expect(await contrastsOf(page, 'dark')).toEqual([]);
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await signIn(page, connection().authToken);
    expect(await page.getByText('Your session has ended').count()).toBe(0);
    await close();
  });

  test('that is there goes on when a link is pasted that was used already, and says so', async () => {
    const { page } = await open('changes');
    await page.getByRole('heading', { name: 'Changes', level: 1 }).waitFor();
    await page.evaluate(() => (location.hash = '#code=used-before'));
    await page.getByRole('alert').getByText('That link did not sign you in').waitFor();
    await page.getByText('token “tests”').waitFor();
    expect(await violationsOf(page)).toEqual([]);
  });

  test('that a link begins is not ended by the answer to an earlier question', async () => {
    const { page, close } = await visit();
    const own = connection();
    await page.goto(`${own.dashboardUrl}/console/`);
    await signIn(page, await aToken('earlier'));
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    const held = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    // The routes stay: a request that is held when its route is taken away may go on to the server.
    let isHeld = false;
    await page.route('**/manage/v1/funds*', async (route) => {
      if (isHeld) return route.continue();
      isHeld = true;
      held.resolve();
      await released.promise;
      return route.fulfill({ status: 401, json: { detail: 'No session' } });
    });
    await askNow(page);
    await held.promise;
    await page.route('**/console/session', (route) =>
      route.continue({ postData: JSON.stringify({ token: own.authToken }) }),
    );
    await page.evaluate(() => (location.hash = '#code=a-fresh-one'));
    await page.getByText('token “tests”').waitFor();
    const answered = page.waitForResponse(
      (response) => response.url().includes('/manage/v1/funds') && response.status() === 401,
    );
    released.resolve();
    await answered;
    await page.getByText('token “tests”').waitFor();
    expect(await page.getByLabel('Token').count()).toBe(0);
    await close();
  });

  test.each(['signed out', 'signed in'] as const)(
    'begins by a link that is pasted into an open tab that is %s, and leaves no code in it',
    async (before) => {
      const { page, close } = await visit();
      const own = connection();
      await page.goto(`${own.dashboardUrl}/console/`);
      await page.getByLabel('Token').waitFor();
      if (before === 'signed in') await signIn(page, await aToken('other'));
      const codes: string[] = [];
      // `make run` prints one code alone: here a token stands for it.
      await page.route('**/console/session', async (route) => {
        const { code } = (route.request().postDataJSON() ?? {}) as { code?: string };
        if (code === undefined) return route.continue();
        codes.push(code);
        return route.continue({ postData: JSON.stringify({ token: own.authToken }) });
      });
      const asked = Promise.withResolvers<void>();
      await page.route('**/manage/v1/me', async (route) => {
        await asked.promise;
        return route.continue();
      });
      await page.evaluate(() => (location.hash = '#code=a-fresh-one'));
      // Nothing that the other one has read is shown meanwhile.
      await page.getByText('token “other”').waitFor({ state: 'detached' });
      asked.resolve();
      await page.getByText('token “tests”').waitFor();
      await page.getByRole('heading', { name: 'Overview' }).waitFor();
      expect(codes).toEqual(['a-fresh-one']);
      expect(page.url()).not.toContain('code');
      await close();
    },
  );
});
