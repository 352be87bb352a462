import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { afterAll, beforeAll } from '@jest/globals';
import {
  chromium,
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type Page,
} from 'playwright-core';

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

/** The distribution's browser for the tests of a file; every visit is a new profile. */
export function useBrowser() {
  let browser: Browser | undefined;
  beforeAll(async () => {
    const executablePath = places.find((path) => existsSync(path));
    if (executablePath === undefined)
      throw new Error('no browser: install chromium (Debian, Ubuntu: apt-get install chromium)');
    browser = await chromium.launch({
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
  });
  afterAll(() => browser?.close());

  return async (origin: string, options: BrowserContextOptions = {}): Promise<Visit> => {
    const context = await browser!.newContext({ viewport: { width: 1280, height: 900 }, ...options });
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

/** What axe finds wrong, as `rule: selector`. */
export async function violationsOf(page: Page): Promise<readonly string[]> {
  // Beside the policy of the page, which allows no other script.
  await page.evaluate(axe);
  const found = await page.evaluate(async () => {
    const { axe: run } = globalThis as unknown as {
      axe: {
        run(): Promise<{
          violations: { id: string; nodes: { target: string[]; failureSummary: string }[] }[];
        }>;
      };
    };
    return (await run.run()).violations;
  });
  return found.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${target.join(' ')}: ${failureSummary}`),
  );
}
