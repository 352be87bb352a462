import { afterAll, beforeAll } from '@jest/globals';
import type { Page } from 'playwright-core';
import type { Connection } from '../../../standalone/connection.js';
import { createOrganisation } from '../../system/support/shared-standalone.js';
import { desktop, useBrowser, type Visit } from './browser.js';

export type ConsoleOptions = {
  readonly viewport?: { readonly width: number; readonly height: number };
  readonly colorScheme?: 'light' | 'dark';
  readonly reducedMotion?: 'reduce';
  /** Prepares what answers its questions, before the first is asked. */
  readonly answers?: (page: Page) => Promise<unknown>;
};

/** The console of an organisation of the file's own, whose name is given. */
export function useConsole(organisation: string) {
  const visit = useBrowser();
  let connection: Required<Connection>;
  /** Signed in once, since attempts are counted, and used by one test after the other. */
  let signedIn: Visit;
  beforeAll(async () => {
    connection = await createOrganisation(organisation);
    const { dashboardUrl, authToken } = connection;
    signedIn = await visit(dashboardUrl);
    const { page } = signedIn;
    await page.goto(`${dashboardUrl}/console/`);
    await page.getByLabel('Token').fill(authToken);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
  });
  afterAll(() => signedIn?.close());

  /** The page of the file as it is when somebody comes to this address: nothing is left of the test before. */
  async function open(
    path: string,
    { viewport = desktop, colorScheme, reducedMotion, answers }: ConsoleOptions = {},
  ): Promise<{ readonly page: Page; readonly faults: string[] }> {
    const { page, faults } = signedIn;
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await page.setViewportSize(viewport);
    await page.emulateMedia({ colorScheme: colorScheme ?? null, reducedMotion: reducedMotion ?? null });
    // The address alone would not load it again.
    await page.goto('about:blank');
    faults.length = 0;
    await answers?.(page);
    await page.goto(`${connection.dashboardUrl}/console/#/${path}`);
    return { page, faults };
  }

  async function create(noun: string, name: string, spec?: object, more: object = {}): Promise<void> {
    const { dashboardUrl, authToken } = connection;
    const response = await fetch(`${dashboardUrl}/manage/v1/${noun}`, {
      method: 'POST',
      headers: { authToken, 'content-type': 'application/json' },
      body: JSON.stringify({ name, ...(spec && { spec }), ...more }),
    });
    if (!response.ok) throw new Error(await response.text());
  }

  return {
    connection: () => connection,
    create,
    /** With a new profile, which is not signed in. */
    visit: (options: Parameters<typeof visit>[1] = {}) => visit(connection.dashboardUrl, options),
    cookies: () => signedIn.context.storageState(),
    page: () => signedIn.page,
    open,
  };
}

/** Agrees to what the page asks before it acts. */
export async function agree(page: Page, button: string): Promise<void> {
  await page.getByRole('alertdialog').getByRole('button', { name: button, exact: true }).click();
}
