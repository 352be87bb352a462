import { expect, test } from '@jest/globals';
import { useConsole } from './support/console.js';

// Tables are drawn again while somebody uses them: what he presses must be what he has pressed.

const { create, open } = useConsole('live-tables');

const limit = (name: string) =>
  create('policies', name, {
    paymasterRef: { name: 'shop' },
    name,
    policyType: 'PAYMASTER_SA_LIMIT',
    spendingLimit: { scope: 'PAYMASTER', thresholdType: 'COUNT', threshold: '100', never: {} },
  });

test('a button that is held down while a row comes before its own acts on no other row', async () => {
  await limit('middle');
  const { page } = await open('paymaster/shop');
  const pressed = page.getByRole('button', { name: 'Change middle' });
  await pressed.hover();
  await page.mouse.down();
  await limit('a-first');
  await page.evaluate(() => dispatchEvent(new Event('online')));
  await page.getByRole('button', { name: 'Change a-first' }).waitFor();
  await page.mouse.up();
  expect(await page.evaluate(() => location.hash)).toMatch(/^#\/paymaster\/shop(\?change=middle)?$/);
  // Pressed again, it is the one.
  await pressed.click();
  await page.getByText('Change “middle”').waitFor();
  expect(await page.evaluate(() => location.hash)).toContain('change=middle');
});
