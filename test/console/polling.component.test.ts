import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Request } from 'playwright-core';
import { consoleQuestions } from '../bench/console-questions.js';
import { until } from '../support/until.js';
import type { Visit } from './support/browser.js';
import { useConsole } from './support/console.js';

// What an open console asks for, and when.

/** Of everything that is asked for until the first page is shown, as it is sent. */
const mostBytesAtFirst = 120_000;
const usualPauseMs = 5_000;

const { connection, cookies, visit } = useConsole('polling');

async function signedIn({ page }: Visit): Promise<void> {
  const { dashboardUrl, authToken } = connection();
  await page.goto(`${dashboardUrl}/console/`);
  await page.getByLabel('Token').fill(authToken);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
}

test(`the first load is at most ${mostBytesAtFirst / 1000} kB, compressed by our own server, and asks no other host`, async () => {
  const opened = await visit();
  const finished: Request[] = [];
  opened.page.on('requestfinished', (request) => finished.push(request));
  await signedIn(opened);
  await opened.page.waitForLoadState('networkidle');
  const files = new Map<string, string | undefined>();
  let bytes = 0;
  for (const request of finished) {
    bytes += (await request.sizes()).responseBodySize;
    const headers = await (await request.response())!.allHeaders();
    files.set(request.resourceType(), headers['content-encoding']);
  }
  expect(Object.fromEntries(files)).toMatchObject({ script: 'gzip', stylesheet: 'gzip' });
  expect(bytes).toBeGreaterThan(10_000);
  expect(bytes).toBeLessThanOrEqual(mostBytesAtFirst);
  expect(opened.faults).toEqual([]);
  await opened.close();
});

test('a client that cannot read compressed files gets them as they are', async () => {
  const { dashboardUrl } = connection();
  const index = await (await fetch(`${dashboardUrl}/console/`)).text();
  const [, script = ''] = /src="\.\/(assets\/[^"]+\.js)"/.exec(index) ?? [];
  const url = `${dashboardUrl}/console/${script}`;
  const [plain, compressed] = await Promise.all(
    ['identity', 'gzip'].map((encoding) => fetch(url, { headers: { 'accept-encoding': encoding } })),
  );
  const seen = [plain!, compressed!].map(({ headers }) => ({
    encoding: headers.get('content-encoding'),
    type: headers.get('content-type'),
    varies: headers.get('vary'),
  }));
  const both = { type: 'text/javascript; charset=utf-8', varies: expect.stringContaining('Accept-Encoding') };
  expect(seen).toEqual([
    { ...both, encoding: null },
    { ...both, encoding: 'gzip' },
  ]);
  expect(await compressed!.text()).toBe(await plain!.text());
  const missing = await fetch(`${dashboardUrl}/console/assets/missing.js`);
  expect([missing.status, missing.headers.get('content-encoding')]).toEqual([404, null]);
});

describe('a page whose time stands still', () => {
  const question = '**/manage/v1/me';
  let opened: Visit;
  beforeEach(async () => {
    opened = await visit({ storageState: await cookies() });
    const { page } = opened;
    await page.addInitScript(() => {
      const usual = globalThis.fetch.bind(globalThis);
      const counted: typeof fetch = (input, options) => {
        const answer = usual(input, options);
        if (typeof input === 'string' && input.endsWith('/manage/v1/me')) {
          counts.asked += 1;
          const ends = () => void (counts.ended += 1);
          answer.then(ends, ends);
        }
        return answer;
      };
      const counts = { asked: 0, ended: 0 };
      Object.assign(globalThis, { fetch: counted, counts });
    });
    await page.clock.install();
    await page.goto(`${connection().dashboardUrl}/console/`);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await until('its first question is asked', async () => (await asked()) > 0);
    // Later than anything that a slow machine may take until it has stopped.
    await page.clock.pauseAt((await page.evaluate(() => Date.now())) + 600_000);
  });
  afterEach(() => opened.close());

  const counts = () =>
    opened.page.evaluate(
      () => (globalThis as unknown as { counts: { asked: number; ended: number } }).counts,
    );
  const asked = async () => (await counts()).asked;
  const allEnded = () =>
    until('every question has its answer', async () => {
      const { asked: all, ended } = await counts();
      return ended === all;
    });
  const pass = (ms: number) => opened.page.clock.runFor(ms);
  /** As a browser tells a page that another tab is in front of it. */
  const setHidden = (hidden: boolean): Promise<void> =>
    opened.page.evaluate((isHidden) => {
      Object.defineProperty(document, 'hidden', { configurable: true, get: () => isHidden });
      document.dispatchEvent(new Event('visibilitychange'));
    }, hidden);

  /** How often it asks when the next pauses are over. */
  async function askedAgain(): Promise<number> {
    const before = await asked();
    await until('it asks again', async () => {
      await pass(usualPauseMs);
      return (await asked()) > before;
    });
    return (await asked()) - before;
  }

  test('asks nothing while it is hidden, and at once when it is seen again', async () => {
    expect(await askedAgain()).toBe(1);
    await setHidden(true);
    const before = await asked();
    await pass(60 * usualPauseMs);
    expect(await asked()).toBe(before);
    await setHidden(false);
    expect(await asked()).toBe(before + 1);
    expect(await askedAgain()).toBe(1);
  });

  test('asks no more often after it was left and seen again while the server was slow', async () => {
    const before = await asked();
    await allEnded();
    let release = (): void => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    await opened.page.route(question, async (route) => {
      await released;
      await route.fallback();
    });
    for (const hidden of [true, false, true, false, true, false]) await setHidden(hidden);
    expect(await asked()).toBe(before + 3);
    release();
    await allEnded();
    expect(await askedAgain()).toBe(1);
  });

  test('shows that a server no longer answers, and recovers', async () => {
    const { page } = opened;
    const lost = page.getByText('No connection since');
    const isShown = (shown: boolean) => async () => {
      await pass(usualPauseMs);
      return (await lost.isVisible()) === shown;
    };
    // A connection that is silently dead refuses nothing, so questions have a deadline: here a shorter one, while nothing answers.
    await page.evaluate(() => {
      const usual = AbortSignal.timeout;
      AbortSignal.timeout = (ms) => usual.call(AbortSignal, ms / 100);
      Object.assign(globalThis, { endShortDeadlines: () => (AbortSignal.timeout = usual) });
    });
    await page.route('**/manage/v1/**', () => {});
    await until('it is shown', isShown(true));
    expect(await page.getByRole('heading', { name: 'Overview' }).isVisible()).toBe(true);
    await page.unroute('**/manage/v1/**');
    await page.evaluate(() => (globalThis as unknown as { endShortDeadlines(): void }).endShortDeadlines());
    await until('it is no longer shown', isShown(false));
  });
});

test('an open console asks what the bench takes it to ask, and waits as long before it asks again', async () => {
  const opened = await visit();
  const { page, close } = opened;
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
  await signedIn(opened);
  const pauses = () => page.evaluate(() => (globalThis as unknown as { pauses: number[] }).pauses);
  await until(
    'each answer is followed by a pause',
    async () => (await pauses()).length >= consoleQuestions.length,
  );
  // Names of chains and their coins, which are not asked for again.
  const once = '/manage/v1/chains';
  await until('the chains are asked for', async () => asked.includes(once));
  expect(asked.toSorted()).toEqual([once, ...consoleQuestions.map(({ path }) => path)].toSorted());
  const wanted = consoleQuestions.map(({ everyMs }) => everyMs);
  expect((await pauses()).toSorted((a, b) => a - b)).toEqual(wanted.toSorted((a, b) => a - b));
  await close();
});
