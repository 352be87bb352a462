import { describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { isSoak } from '../support/soak-seconds.js';
import { answering, at, mocking, nothing, one, policy, token, type Answers } from './support/answers.js';
import { violationsOf } from './support/browser.js';
import { agree, useConsole } from './support/console.js';

// What a page does with answers that are hard to reach: they are made up.

const mocked = mocking(useConsole('made-up'));

test('a page and a paymaster that do not exist say so, and lead on', async () => {
  const { page } = await mocked('nowhere', answering(one));
  await page.getByText('The console has no page “nowhere”.').waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await page.getByText('The console has no page').getByRole('link', { name: 'Overview' }).click();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  await page.evaluate(() => (location.hash = '#/paymaster/gone'));
  await page.getByText('There is no paymaster “gone”.').waitFor();
  await page.getByRole('link', { name: 'All paymasters' }).click();
  await page.getByRole('link', { name: 'Shop' }).waitFor();
});

test('a field that a manifest owns shows the YAML to commit, at every control that changes it', async () => {
  const manifest = 'kind: PaymasterPolicy\nspec:\n  active: false\n';
  const { page } = await mocked('paymaster/shop', async (route) => {
    if (route.request().method() === 'GET') return answering(one)(route);
    const detail = 'spec.active is owned by "argocd".';
    return route.fulfill({ status: 409, json: { detail, code: 'FIELD_OWNED', manifest } });
  });
  for (const [region, button, agreed] of [
    ['State', 'Suspend Shop', 'Suspend'],
    ['Rules', 'Pause daily', 'Pause'],
  ] as const) {
    const card = page.getByRole('region', { name: region, exact: true });
    await card.getByRole('button', { name: button }).click();
    await agree(page, agreed);
    await card.getByText('Commit this instead:').waitFor();
    expect(await card.locator('pre').textContent()).toBe(manifest);
    await card.getByText('spec.active is owned by "argocd".').waitFor();
  }
  expect(await violationsOf(page)).toEqual([]);
});

test('a change is sent once, however often its button is pressed, and can be sent again after its answer', async () => {
  const sent: string[] = [];
  let release = (): void => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  const { page } = await mocked('tokens', async (route) => {
    const request = route.request();
    if (request.method() === 'GET') return answering(one)(route);
    sent.push(new URL(request.url()).pathname);
    await released;
    return route.fulfill({ status: 503, json: { detail: 'Try again.' } });
  });
  const revoke = page.getByRole('button', { name: 'Revoke robot' });
  await revoke.click();
  await agree(page, 'Revoke');
  for (const _ of [1, 2]) await revoke.click();
  // Nothing is asked while one is on its way.
  expect(await page.getByRole('alertdialog').count()).toBe(0);
  release();
  await page.getByText('Try again.').waitFor();
  expect(sent).toEqual(['/manage/v1/tokens/robot']);
  const again = page.waitForRequest((request) => request.method() === 'DELETE');
  await revoke.click();
  await agree(page, 'Revoke');
  await again;
});

test.each([
  { present: '900000000000000.000000002', next: '900000000000000.000000001', isLower: true },
  { present: '900000000000000.000000001', next: '900000000000000.000000002', isLower: false },
  { present: '9', next: '10', isLower: false },
  { present: '0.5', next: '0.50', isLower: false },
])('from $present to $next is lower: $isLower', async ({ present, next, isLower }) => {
  const spendingLimit = { ...policy.spec.spendingLimit, threshold: present, thresholdType: 'NATIVE_ASSET' };
  const items = [{ ...policy, spec: { ...policy.spec, spendingLimit } }];
  const { page } = await mocked(
    'paymaster/shop',
    answering({ ...one, policies: { items, nextCursor: null } }),
  );
  await page.getByRole('button', { name: 'Change daily' }).click();
  await page.getByLabel('New threshold, instead of').fill(next);
  // Both appear with the same drawing.
  await page.getByLabel('Begins again').first().selectOption('never');
  expect(
    await page.getByRole('button', { name: 'What would that have refused in the last 7 days?' }).count(),
  ).toBe(isLower ? 1 : 0);
});

describe('10,000 rows', () => {
  const many = <T>(of: (index: number) => T): readonly T[] =>
    Array.from({ length: 10_000 }, (_, index) => of(index));
  const lists: readonly { readonly path: string; readonly caption: string; readonly answers: Answers }[] = [
    {
      path: 'usage?groupBy=sender',
      caption: 'All figures',
      answers: {
        usage: {
          ...(nothing['usage'] as object),
          items: many((index) => ({
            from: at,
            group: `0x${index.toString(16).padStart(40, '0')}`,
            method: null,
            sponsored: 1,
            refused: 0,
            mined: 1,
            reverted: 0,
            expired: 0,
            promised: '0.1',
            spent: '0.05',
            spentWei: '50000000000000000',
          })),
        },
      },
    },
    {
      path: 'problems',
      caption: 'To be fixed',
      answers: {
        problems: {
          complete: true,
          items: many((index) => ({
            check: 'Ready',
            severity: 'warning',
            noun: 'contract',
            displayName: `contract ${index}`,
            meaning: 'It is not ready.',
            message: '',
            remedy: 'Check it.',
            since: at,
          })),
        },
      },
    },
    {
      path: 'tokens',
      caption: 'Tokens',
      answers: { tokens: { items: many((index) => ({ ...token, name: `robot-${index}` })) } },
    },
    {
      path: 'paymaster/shop',
      caption: 'Rules',
      answers: {
        policies: {
          nextCursor: null,
          items: many((index) => ({
            ...policy,
            name: `daily-${index}`,
            spec: { ...policy.spec, name: `daily ${index}` },
          })),
        },
      },
    },
  ];

  // All are made by the same table; `make soak` looks at each.
  test.each(isSoak ? lists : lists.slice(0, 1))(
    'are all on $path, which stays usable',
    async ({ path, caption, answers }) => {
      const { page, faults } = await mocked(path, answering({ ...one, ...answers }));
      const table = page.getByRole('table', { name: caption });
      await table.locator('tbody tr').nth(9_999).waitFor({ state: 'attached' });
      expect(await table.locator('tbody tr').count()).toBe(10_000);
      expect(await overflowOf(page)).toBeLessThanOrEqual(0);
      await page.getByRole('link', { name: 'Activity' }).press('Enter');
      await page.getByText('Nothing in this time that fits.').waitFor();
      expect(faults).toEqual([]);
    },
  );
});

/** Pixels that the page is wider than its window. */
function overflowOf(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
}
