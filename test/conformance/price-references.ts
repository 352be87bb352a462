import { beforeEach, describe, expect, test } from '@jest/globals';
import type { PriceReferences } from '../../core/pricing/price-jump.js';
import type { EpochMs } from '../../core/units/time.js';

/** `open` gives two views of the same store, as two replicas have them. */
export function describePriceReferences(
  name: string,
  open: () => Promise<{ readonly one: PriceReferences; readonly other: PriceReferences }>,
): void {
  describe(`the last accepted prices in ${name}`, () => {
    let one: PriceReferences;
    let other: PriceReferences;
    beforeEach(async () => {
      ({ one, other } = await open());
    });
    const at = (ms: number) => (1_800_000_000_000 + ms) as EpochMs;

    test('are unknown before the first', async () => {
      expect(await one.last('1 0xa')).toBeUndefined();
    });

    test('are known to every replica, by name, with all digits', async () => {
      const rate = (1n << 200n) + 1n;
      await one.keep('1 0xa', { rate, acceptedAt: at(0) });
      await one.keep('1 0xb', { rate: 5n, acceptedAt: at(1) });
      expect(await other.last('1 0xa')).toEqual({ rate, acceptedAt: at(0) });
      expect(await other.last('1 0xb')).toEqual({ rate: 5n, acceptedAt: at(1) });
    });

    test('are those that were accepted last, in whatever order they come', async () => {
      await one.keep('1 0xa', { rate: 1n, acceptedAt: at(10) });
      await other.keep('1 0xa', { rate: 2n, acceptedAt: at(5) });
      expect(await one.last('1 0xa')).toEqual({ rate: 1n, acceptedAt: at(10) });
      await other.keep('1 0xa', { rate: 3n, acceptedAt: at(11) });
      expect(await one.last('1 0xa')).toEqual({ rate: 3n, acceptedAt: at(11) });
    });
  });
}
