import type { Page } from 'playwright-core';

/** One thing that somebody does without a mouse. */
export type Stroke = (page: Page) => Promise<unknown>;

/** As long as the browser is waited for elsewhere: what is looked for may be on its way. */
const patienceMs = 60_000;
/** More than any page has controls: from then on it waits between presses. */
const mostTabs = 200;

/** What the focused control is called, as its label says it. */
function focusedName(page: Page): Promise<string> {
  return page.evaluate(() => {
    const focused = document.activeElement as
      (HTMLElement & { labels?: NodeListOf<HTMLLabelElement> }) | null;
    const label = focused?.labels?.[0];
    const text =
      focused?.getAttribute('aria-label') ??
      label?.querySelector(':scope > span')?.textContent ??
      label?.textContent ??
      focused?.textContent;
    return (text ?? '').trim();
  });
}

/** Presses Tab until the control of this name has the focus. */
export function tabTo(page: Page, name: string | RegExp): Promise<void> {
  return pressUntil(page, name, async () => 'Tab');
}

async function pressUntil(page: Page, name: string | RegExp, nextKey: () => Promise<string>): Promise<void> {
  const seen = new Set<string>();
  const begun = performance.now();
  for (let presses = 0; performance.now() - begun < patienceMs; presses += 1) {
    const focused = await focusedName(page);
    if (typeof name === 'string' ? focused === name : name.test(focused)) return;
    seen.add(focused.slice(0, 40));
    await page.keyboard.press(await nextKey());
    if (presses > mostTabs) await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`the keyboard does not reach ${String(name)}, only ${[...seen].join(' | ')}`);
}

/** A button, a link, or the line that opens a form. */
export const press =
  (name: string | RegExp): Stroke =>
  async (page) => {
    await tabTo(page, name);
    await page.keyboard.press('Enter');
  };

/** Instead of what is there. */
export const write =
  (name: string | RegExp, text: string): Stroke =>
  async (page) => {
    await tabTo(page, name);
    await page.keyboard.press('Control+A');
    await page.keyboard.insertText(text);
  };

/** Of a list: typing what a choice begins with chooses it. */
export const choose =
  (name: string | RegExp, choice: string): Stroke =>
  async (page) => {
    await tabTo(page, name);
    await page.keyboard.type(choice);
  };

/** One below the chosen one of a group, of which the keyboard reaches the chosen one alone. */
export const pick =
  (name: RegExp): Stroke =>
  (page) =>
    pressUntil(page, name, async () => {
      const isChoice = await page.evaluate(() => document.activeElement?.matches('input[type=radio]'));
      return isChoice === true ? 'ArrowDown' : 'Tab';
    });

/** Turns a box over. */
export const turn =
  (name: string | RegExp): Stroke =>
  async (page) => {
    await tabTo(page, name);
    await page.keyboard.press('Space');
  };

export const sees =
  (text: string | RegExp): Stroke =>
  (page) =>
    page.getByText(text).first().waitFor();
