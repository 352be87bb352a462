import { expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { contrastsOf, cutIn, desktop, isFocused, violationsOf } from './support/browser.js';
import { useConsole } from './support/console.js';
import { tabTo } from './support/keyboard.js';

// Pages are beside what they show; on a phone they are in a menu.

const { open } = useConsole('navigation');
const phone = { width: 390, height: 844 };

const navigation = (page: Page) => page.getByRole('navigation', { name: 'Pages' });
const menu = (page: Page) => navigation(page).getByRole('button', { name: 'Menu' });

test('a phone has one line above the page, in which a button opens the pages and what is about the session', async () => {
  const { page, faults } = await open('overview', { viewport: phone });
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  const lineHeight = (await navigation(page).boundingBox())!.height;
  const buttonHeight = (await menu(page).boundingBox())!.height;
  expect(lineHeight).toBeLessThan(2 * buttonHeight);
  expect(await navigation(page).getByRole('link', { name: 'Activity' }).count()).toBe(0);
  expect(await menu(page).getAttribute('aria-expanded')).toBe('false');
  expect(await violationsOf(page)).toEqual([]);

  await menu(page).click();
  expect(await menu(page).getAttribute('aria-expanded')).toBe('true');
  await navigation(page).getByRole('button', { name: 'Sign out' }).waitFor();
  expect(await violationsOf(page)).toEqual([]);
  for (const colorScheme of ['light', 'dark'] as const)
    expect(await contrastsOf(page, colorScheme)).toEqual([]);
  expect(await cutIn(page, phone)).toEqual([]);

  await navigation(page).getByRole('link', { name: 'Activity' }).click();
  await page.getByRole('heading', { level: 1, name: 'Activity' }).waitFor();
  expect(await menu(page).getAttribute('aria-expanded')).toBe('false');
  expect(await navigation(page).getByRole('link', { name: 'Activity' }).count()).toBe(0);
  expect(faults).toEqual([]);
});

test('by the keyboard the menu opens, leads to a page, and closes with Escape, which gives the focus back to its button', async () => {
  const { page } = await open('overview', { viewport: phone });
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  await tabTo(page, 'Menu');
  await page.keyboard.press('Enter');
  await tabTo(page, 'Money');
  await page.keyboard.press('Escape');
  expect(await isFocused(menu(page))).toBe(true);
  expect(await menu(page).getAttribute('aria-expanded')).toBe('false');

  await page.keyboard.press('Enter');
  await tabTo(page, 'Changes');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Changes' }).waitFor();
  expect(await isFocused(page.getByRole('main'))).toBe(true);
  expect(await menu(page).getAttribute('aria-expanded')).toBe('false');
});

test('elsewhere every page is in view beside the present one, and no button hides any', async () => {
  const { page } = await open('overview', { viewport: desktop });
  await navigation(page).getByRole('link', { name: 'Tokens' }).waitFor();
  expect(await menu(page).count()).toBe(0);
  await navigation(page).getByRole('link', { name: 'Tokens' }).click();
  await page.getByRole('heading', { level: 1, name: 'Tokens' }).waitFor();
  expect(await navigation(page).locator('[aria-current=page]').textContent()).toBe('Tokens');
});
