import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { anAbi } from '../build/resources.js';
import { useConsole } from './support/console.js';
import { askForThree } from './support/three-operations.js';

// One look on every page.

const { connection, open } = useConsole('look');
beforeAll(() => askForThree(connection()));

const paths = [
  'overview',
  'problems',
  'paymaster',
  'paymaster?create=chain',
  'paymaster/shop',
  'paymaster/shop?change=shop-operations-per-day',
  'paymaster/shop?tab=contracts',
  'paymaster/shop?tab=money',
  'paymaster/shop?tab=connect',
  'paymaster/shop?tab=yaml',
  'activity',
  'usage',
  'what-if',
  'playground',
  'changes',
  'tokens',
];

async function ready(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.getByText('Loading…').first().waitFor({ state: 'detached' });
  await page.evaluate(() => {
    for (const each of document.querySelectorAll('details')) each.open = true;
  });
}

describe.each(paths)('%s', (path) => {
  test('writes and spaces by one scale, and lets nobody read lines that are longer than a column', async () => {
    const { page } = await open(path);
    await ready(page);
    const odd = await page.evaluate(() => {
      const px = (name: string): number => {
        const probe = document.body.appendChild(document.createElement('i'));
        probe.style.width = `var(--${name})`;
        probe.style.display = 'block';
        const width = parseFloat(getComputedStyle(probe).width);
        probe.remove();
        return width;
      };
      const types = ['small', 'normal', 'large', 'title'].map(px);
      const spaces = [0, ...[1, 2, 3, 4, 5, 6, 7].map((step) => px(`space-${step}`))];
      const isOf = (scale: readonly number[], value: string): boolean =>
        Number.isNaN(parseFloat(value)) || scale.some((each) => Math.abs(each - parseFloat(value)) < 0.02);
      const found = new Set<string>();
      for (const each of document.querySelectorAll<HTMLElement>('#frame *:not(svg, svg *, option)')) {
        const style = getComputedStyle(each);
        const name = `${each.tagName.toLowerCase()}.${each.className}`;
        const hasText = [...each.childNodes].some(({ nodeType }) => nodeType === Node.TEXT_NODE);
        if (hasText && !isOf(types, style.fontSize)) found.add(`${name} is written in ${style.fontSize}`);
        for (const gap of [style.rowGap, style.columnGap])
          if (!isOf(spaces, gap)) found.add(`${name} has a gap of ${gap}`);
        // Code leaves room for the button that copies it.
        const { paddingTop, paddingRight, paddingBottom, paddingLeft } = style;
        for (const padding of each.tagName === 'PRE'
          ? []
          : [paddingTop, paddingRight, paddingBottom, paddingLeft])
          if (!isOf(spaces, padding)) found.add(`${name} has a padding of ${padding}`);
        if (each.tagName === 'P' && each.scrollWidth > px('reading') + 1)
          found.add(`${name} is ${each.scrollWidth} wide`);
      }
      return [...found];
    });
    expect(odd).toEqual([]);
  });

  test('shows in red what ends something, and nothing else', async () => {
    const { page } = await open(path);
    await ready(page);
    for (const colorScheme of ['light', 'dark'] as const) {
      // Colours that are on their way to others would be compared.
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      const buttons = await page.evaluate(() => {
        const probe = document.body.appendChild(document.createElement('i'));
        probe.style.color = 'var(--bad-text)';
        const red = getComputedStyle(probe).color;
        probe.remove();
        return [...document.querySelectorAll<HTMLElement>('main :is(button, summary)')].map((each) => ({
          name: each.getAttribute('aria-label') ?? each.textContent ?? '',
          isRed: getComputedStyle(each).color === red,
        }));
      });
      const ends = /^(Delete|Revoke|Suspend|Begin anew)/;
      expect(buttons.filter(({ name, isRed }) => isRed !== ends.test(name))).toEqual([]);
    }
  });
});

test.each([
  ['beside each other', 1280, 1],
  ['below each other', 390, 2],
])('charts are as high as each other, %s, also where one has nothing to show', async (_name, width, rows) => {
  for (const isEmpty of [false, true]) {
    const { page } = await open('overview', {
      viewport: { width, height: 900 },
      answers: (on) =>
        on.route(/usage\?.*groupBy=reason/, async (route) => {
          if (!isEmpty) return route.continue();
          const response = await route.fetch();
          const { data } = (await response.json()) as { data: object };
          return route.fulfill({ response, json: { data: { ...data, items: [] } } });
        }),
    });
    await page.getByRole('region', { name: 'Operations over time' }).locator('figure').waitFor();
    await page
      .getByRole('region', { name: 'Refusals by reason' })
      .locator(isEmpty ? '.empty' : 'figure')
      .waitFor();
    const boxes = await page
      .locator('.cards > .card')
      .evaluateAll((cards) =>
        cards.map((card) => card.getBoundingClientRect()).map(({ top, height }) => [top, height]),
      );
    expect(new Set(boxes.map(([top]) => top)).size).toBe(rows);
    if (rows === 1) expect(new Set(boxes.map(([, height]) => height)).size).toBe(1);
  }
});

test('plots beside each other begin at the same height, also where one has more to explain', async () => {
  const reasons = [
    'METHOD_NOT_WHITELISTED',
    'CONTRACT_NOT_REGISTERED',
    'SENDER_NOT_ALLOWED',
    'WEBHOOK_REFUSED',
    'EXPRESSION_REFUSED',
    'DEPOSIT_TOO_LOW',
  ];
  const { page } = await open('overview', {
    answers: (on) =>
      on.route(/usage\?.*groupBy=reason/, async (route) => {
        const response = await route.fetch();
        const { data } = (await response.json()) as { data: { items: readonly object[] } };
        const items = data.items.flatMap((row) => reasons.map((group) => ({ ...row, group, refused: 1 })));
        return route.fulfill({ response, json: { data: { ...data, items } } });
      }),
  });
  await page.getByText('Expression refused').first().waitFor();
  const plots = page.locator('.cards .plot');
  expect(await plots.count()).toBe(2);
  const tops = await plots.evaluateAll((all) => all.map((each) => each.getBoundingClientRect().top));
  expect(new Set(tops).size).toBe(1);
});

test('a form is empty once what it made is there', async () => {
  const { page, faults } = await open('tokens');
  await page.getByText('Make a token').click();
  const form = page.locator('form', { has: page.getByLabel('read:') });
  await form.getByLabel('Name', { exact: true }).fill('emptied');
  await form.getByLabel('read:').check();
  await form.getByRole('button', { name: 'Save' }).click();
  await page.getByText('“emptied” is made.').waitFor();
  expect(await form.getByLabel('Name', { exact: true }).inputValue()).toBe('');
  expect(await form.getByLabel('read:').isChecked()).toBe(false);

  await page.goto(`${connection().dashboardUrl}/console/#/paymaster/shop?tab=contracts`);
  await page.getByText('Register a contract').click();
  const contract = page.locator('form', { has: page.getByLabel('ABI, as JSON') });
  await contract.getByLabel('Name').fill('emptied');
  await contract.getByLabel('Address').fill(`0x${'e1'.repeat(20)}`);
  await contract.getByLabel('ABI, as JSON').fill(anAbi);
  await contract.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Calls of no method are paid for.').waitFor();
  for (const label of ['Name', 'Address', 'ABI, as JSON'])
    expect({ label, value: await contract.getByLabel(label).inputValue() }).toEqual({ label, value: '' });
  expect(faults).toEqual([]);
});
