import type { ChildProcess } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Socket } from 'node:net';
import { afterAll, beforeAll } from '@jest/globals';
import {
  chromium,
  type BrowserContext,
  type BrowserContextOptions,
  type Locator,
  type Page,
} from 'playwright-core';
import { sharedServer } from '../../support/shared-server.js';

/** Where distributions put it, and what CI machines have. */
const places = ['/usr/bin/chromium', '/usr/bin/google-chrome', '/usr/bin/chromium-browser'];
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export type Visit = {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Errors of the page, and requests to other hosts than its own. */
  readonly faults: string[];
  close(): Promise<void>;
};

/** One for all files of a worker: it takes two seconds to start. */
const browserOfWorker = sharedServer(async () => {
  const executablePath = places.find((path) => existsSync(path));
  if (executablePath === undefined)
    throw new Error('no browser: install chromium (Debian, Ubuntu: apt-get install chromium)');
  const children: ChildProcess[] = [];
  const note = (message: unknown): void => {
    children.push((message as { readonly process: ChildProcess }).process);
  };
  subscribe('child_process', note);
  try {
    const browser = await chromium.launch({
      executablePath,
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
        '--no-first-run',
      ],
    });
    // A process has no pipes yet when the channel tells of it.
    const pipes = children.flatMap(({ stdio }) => stdio.filter((stream) => stream instanceof Socket));
    const handles: readonly { ref(): void; unref(): void }[] = [...children, ...pipes];
    return { browser, handles };
  } finally {
    unsubscribe('child_process', note);
  }
});

/**
 * The distribution's browser; every visit is a new profile, which takes a second of a processor: tests that need no new one use the page
 * of `useConsole`.
 */
export function useBrowser() {
  let shared: Awaited<ReturnType<typeof browserOfWorker>> | undefined;
  beforeAll(async () => {
    shared = await browserOfWorker();
    for (const handle of shared.handles) handle.ref();
  });
  // The worker ends without waiting for it, and takes it along.
  afterAll(() => {
    for (const handle of shared?.handles ?? []) handle.unref();
  });

  return async (origin: string, options: BrowserContextOptions = {}): Promise<Visit> => {
    const context = await shared!.browser.newContext({ viewport: desktop, ...options });
    // Load and a busy machine make steps slow, never wrong.
    context.setDefaultTimeout(60_000);
    const faults: string[] = [];
    const page = await context.newPage();
    page.on('pageerror', (error) => faults.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error') faults.push(message.text());
    });
    page.on('request', (request) => {
      if (!/^(blob|data):/.test(request.url()) && new URL(request.url()).origin !== origin)
        faults.push(`request to ${request.url()}`);
    });
    return { page, context, faults, close: () => context.close() };
  };
}

export const desktop = { width: 1280, height: 900 };

/** What axe finds wrong, as `rule: selector`. Of all its rules, or of those named. */
export async function violationsOf(page: Page, rules?: readonly string[]): Promise<readonly string[]> {
  // Beside the policy of the page, which allows no other script.
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe);
  const found = await page.evaluate(
    async (runOnly) => {
      const { axe: run } = globalThis as unknown as {
        axe: {
          run(options: object): Promise<{
            violations: { id: string; nodes: { target: string[]; failureSummary: string }[] }[];
          }>;
        };
      };
      // What passes is not needed, and takes most of the time to describe.
      return (await run.run({ resultTypes: ['violations'], ...(runOnly && { runOnly }) })).violations;
    },
    rules && [...rules],
  );
  return found.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${target.join(' ')}: ${failureSummary}`),
  );
}

/** What changes with colours alone: beside {@link violationsOf} in the other ones. */
export async function contrastsOf(page: Page, colorScheme: 'light' | 'dark'): Promise<readonly string[]> {
  // Colours that are on their way to others would be measured.
  await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
  const found = await violationsOf(page, ['color-contrast']);
  await page.emulateMedia({ colorScheme: null, reducedMotion: null });
  return found;
}

/** Elements that are wider than they may be in a window of this size, with every form and table open. */
export async function cutIn(
  page: Page,
  viewport: { readonly width: number; readonly height: number },
): Promise<readonly string[]> {
  await page.setViewportSize(viewport);
  return page.evaluate(async () => {
    // Plots take the new width when the next frame is drawn.
    for (const _ of [1, 2]) await new Promise((resolve) => requestAnimationFrame(resolve));
    for (const each of document.querySelectorAll('details')) each.open = true;
    return [...document.querySelectorAll('*')]
      .filter((each) => each.scrollWidth > each.clientWidth)
      .filter((each) => each === document.documentElement || getComputedStyle(each).overflowX === 'auto')
      .map((each) => `${each.tagName} ${each.getAttribute('aria-label') ?? each.className}`);
  });
}

export const inView = (element: Locator): Promise<boolean> =>
  element.evaluate((each) => {
    const { top, bottom } = each.getBoundingClientRect();
    return top >= 0 && bottom <= innerHeight;
  });

export const isFocused = (element: Locator): Promise<boolean> =>
  element.evaluate((each) => each === document.activeElement);
