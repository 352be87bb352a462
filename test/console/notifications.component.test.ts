import { expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { contrastsOf, cutIn, violationsOf } from './support/browser.js';
import { useConsole } from './support/console.js';

// The receivers of an organisation, below its problems. Which messages they get: test/system/notifications.

const { open } = useConsole('notified');

const receiver = {
  name: 'on-call',
  format: 'CloudEvents',
  events: ['deposit.low', 'paymaster.notServing', 'price.jumped'],
  host: 'ops.example.org',
  failingSince: null,
  failure: null,
};
const failing = {
  ...receiver,
  name: 'channel',
  format: 'Slack',
  host: 'hooks.slack.com',
  failingSince: '2026-11-30T08:00:00.000Z',
  failure: 'hooks.slack.com answered HTTP 404',
};

const answers = async (page: Page): Promise<void> => {
  await page.route('**/manage/v1/notifications', (route) =>
    route.fulfill({ json: { data: { items: [receiver, failing], nextCursor: null } } }),
  );
  await page.route('**/manage/v1/notifications/*/test', (route) => {
    const isDead = route.request().url().includes('channel');
    const detail = isDead ? failing.failure : null;
    return route.fulfill({ json: { data: { delivered: !isDead, detail } } });
  });
};

test('each receiver can be tried, and one that gets nothing says since when and why', async () => {
  const { page, faults } = await open('problems', { answers });
  await page
    .getByRole('row', {
      name: /^channel hooks\.slack\.com Slack .* answered HTTP 404 Send a test to channel/,
    })
    .waitFor();
  await page.getByRole('button', { name: 'Send a test to on-call' }).click();
  await page.getByText('“on-call” has got a test message.').waitFor();
  await page.getByRole('button', { name: 'Send a test to channel' }).click();
  await page.getByText('“channel” got nothing: hooks.slack.com answered HTTP 404.').waitFor();
  expect(await violationsOf(page)).toEqual([]);
  expect(faults).toEqual([]);
});

test('nothing is cut in a narrow window, and both themes can be read', async () => {
  const { page } = await open('problems', { answers });
  await page.getByRole('button', { name: 'Send a test to channel' }).waitFor();
  for (const viewport of [
    { width: 640, height: 450 },
    { width: 390, height: 844 },
  ])
    expect(await cutIn(page, viewport)).toEqual([]);
  for (const scheme of ['light', 'dark'] as const) expect(await contrastsOf(page, scheme)).toEqual([]);
});

test('where nobody is told, the page says who can change that', async () => {
  const { page } = await open('problems');
  await page.getByText('Nobody gets notifications.').waitFor();
});
