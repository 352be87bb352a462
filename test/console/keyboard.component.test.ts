import { expect, test } from '@jest/globals';
import { press } from './support/keyboard.js';
import { useKeyboard } from './support/with-keyboard.js';
import { writes } from './support/writes.js';

// Every change that the console offers, beside those of rules, by somebody who has a keyboard alone.

const { opened, follows, isAccessible, movesNothing } = useKeyboard('keyboard');

follows(writes);
isAccessible(['tokens', 'what-if', 'playground']);
movesNothing(['overview', 'activity', 'money', 'usage']);

test('signs out', async () => {
  const { page, faults } = await opened('overview');
  await press('Sign out')(page);
  await page.getByLabel('Token').waitFor();
  await page.reload();
  await page.getByLabel('Token').waitFor();
  // What the page was asking when its session ended is refused.
  expect(faults.filter((fault) => !fault.includes('401'))).toEqual([]);
});
