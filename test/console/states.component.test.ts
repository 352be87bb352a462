import { describe, expect, test } from '@jest/globals';
import { answering, mocking, nothing } from './support/answers.js';
import { violationsOf } from './support/browser.js';
import { useConsole } from './support/console.js';

// What each page says in states that are hard to reach: the real page, its policy and its session, with answers of the API made up.

const mocked = mocking(useConsole('states'));

const pages: readonly { readonly path: string; readonly says: RegExp }[] = [
  { path: 'overview', says: /Nothing was asked for in this time.*send a first operation/ },
  { path: 'problems', says: /Nothing is wrong/ },
  { path: 'paymaster', says: /You have no paymaster yet. Create one, or apply/ },
  { path: 'activity', says: /Nothing in this time that fits. Choose a longer range/ },
  { path: 'money', says: /Nothing was spent in this time. Money counts when/ },
  { path: 'usage', says: /Nothing was asked for in this time. Choose a longer range/ },
  { path: 'playground', says: /You have no paymaster yet that could decide/ },
  { path: 'changes', says: /No token changed anything in the last 30 days/ },
  { path: 'tokens', says: /You have no token yet.*Make one below/ },
];

describe.each(pages)('$path', ({ path, says }) => {
  test('says what to do while there is nothing', async () => {
    const { page, faults } = await mocked(path, answering(nothing));
    await page.getByText(says).first().waitFor();
    expect(await violationsOf(page)).toEqual([]);
    expect(faults).toEqual([]);
  });

  test('says that it is loading until the server answers', async () => {
    let release = (): void => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    const { page } = await mocked(path, async (route) => {
      await released;
      await answering(nothing)(route);
    });
    await page.locator('main').getByText('Loading…').first().waitFor();
    expect(await violationsOf(page)).toEqual([]);
    expect(await page.getByText(says).count()).toBe(0);
    release();
    await page.getByText(says).first().waitFor();
  });

  test('shows the error of the server in its words, and neither nothing nor all well', async () => {
    const { page } = await mocked(path, (route) =>
      route.fulfill({
        status: 500,
        contentType: 'application/problem+json',
        json: { title: 'Internal', detail: 'The ledger is <b>not</b> there.' },
      }),
    );
    await page.getByRole('alert').getByText('The ledger is <b>not</b> there.').first().waitFor();
    expect(await page.getByText(says).count()).toBe(0);
    expect(await violationsOf(page)).toEqual([]);
  });
});
