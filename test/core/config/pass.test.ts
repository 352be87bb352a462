import { expect, test } from '@jest/globals';
import { createPasses } from '../../../core/config/pass.js';
import type { EpochMs } from '../../../core/units/time.js';

const start = Date.parse('2026-03-01T12:00:00.000Z');
const [key, other] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
const passes = (ms = 0, webhook = key, webhookPrevious?: Uint8Array) =>
  createPasses({ masterKeys: { webhook, webhookPrevious }, clock: { now: () => (start + ms) as EpochMs } });

test('a pass shows its paymaster for a minute, also while the key is being rotated', () => {
  const pass = passes().issue('shop');
  expect(passes().admits('shop', pass)).toBe(true);
  expect(passes(59_999).admits('shop', pass)).toBe(true);
  expect(passes(0, other, key).admits('shop', pass)).toBe(true);
  expect(passes(0, other, key).admits('shop', passes(0, other).issue('shop'))).toBe(true);
});

test.each<{ name: string; pass: string }>([
  { name: 'of another paymaster', pass: passes().issue('shop-2') },
  { name: 'whose minute is over', pass: passes(-60_000).issue('shop') },
  { name: 'of a clock that is more than a minute ahead', pass: passes(60_001).issue('shop') },
  { name: 'under another key', pass: passes(0, other).issue('shop') },
  { name: 'whose end was moved', pass: `${start + 90_000}${passes().issue('shop').slice(13)}` },
  { name: 'with something behind it', pass: `${passes().issue('shop')}A` },
  { name: 'with a sign before it', pass: `+${passes().issue('shop')}` },
  { name: 'that is empty', pass: '' },
  { name: 'without a seal', pass: `${start + 60_000}.` },
  { name: 'that is long', pass: `1${'0'.repeat(100_000)}.${'A'.repeat(43)}` },
])('a pass $name shows nothing', ({ pass }) => {
  expect(passes().admits('shop', pass)).toBe(false);
});
