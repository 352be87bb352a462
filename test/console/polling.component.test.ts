import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { consoleQuestions } from '../bench/console-questions.js';
import { until } from '../support/until.js';
import {
  removeDataDirectory,
  startStandalone,
  type RunningStandalone,
} from '../system/support/standalone.js';
import { useBrowser } from './support/browser.js';

const visit = useBrowser();
let running: RunningStandalone;
beforeAll(async () => {
  running = await startStandalone();
}, 300_000);
afterAll(async () => {
  running?.signal('SIGKILL');
  await running?.ended;
  if (running !== undefined) removeDataDirectory(running.dataDirectory);
});

test('an open console asks what the bench takes it to ask, and waits as long before it asks again', async () => {
  const { dashboardUrl, authToken } = running.connection();
  const { page, close } = await visit(dashboardUrl);
  // Long pauses are noted and never end, so that each question is asked once.
  await page.addInitScript(() => {
    const pauses: number[] = [];
    const usual = globalThis.setTimeout;
    const noted = (run: () => void, ms = 0): unknown => (ms < 1_000 ? usual(run, ms) : pauses.push(ms));
    Object.assign(globalThis, { pauses, setTimeout: noted });
  });
  const asked: string[] = [];
  page.on('request', (request) => {
    const { pathname, searchParams } = new URL(request.url());
    const groupBy = searchParams.get('groupBy');
    if (/^\/(manage|api)\//.test(pathname))
      asked.push(groupBy === null ? pathname : `${pathname}?groupBy=${groupBy}`);
  });
  await page.goto(`${dashboardUrl}/console/`);
  await page.getByLabel('Token').fill(authToken);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  const pauses = () => page.evaluate(() => (globalThis as unknown as { pauses: number[] }).pauses);
  await until(
    'each answer is followed by a pause',
    async () => (await pauses()).length >= consoleQuestions.length,
  );
  expect(asked.toSorted()).toEqual(consoleQuestions.map(({ path }) => path).toSorted());
  const wanted = consoleQuestions.map(({ everyMs }) => everyMs);
  expect((await pauses()).toSorted((a, b) => a - b)).toEqual(wanted.toSorted((a, b) => a - b));
  await close();
});
