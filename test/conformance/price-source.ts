import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  formatRefusal,
  type PricedToken,
  type PriceFault,
  type PriceSource,
} from '../../core/pricing/price-source.js';
import { systemClock } from '../../core/units/time.js';
import { aServedToken } from '../build/prices.js';

/** A source under test, and control over its input. */
export type PriceSourceSubject = {
  /** Makes it quote this many whole tokens per native coin from now on; decimal text whose inverse is finite, too. */
  quote(tokensPerNative: string, token: PricedToken): Promise<PriceSource>;
  stop(): Promise<void>;
};

/** One way in which this kind of source can fail, and the reason that it must give. */
export type SourceFault<S> = {
  readonly name: string;
  readonly reason: PriceFault;
  /** Text that the message for people must contain. */
  readonly says: RegExp;
  readonly arrange: (subject: S) => Promise<PriceSource>;
};

/** Guarantees of every implementation of the PriceSource port. */
export function priceSourceConformance<S extends PriceSourceSubject>(
  name: string,
  start: () => Promise<S>,
  faults: readonly SourceFault<S>[],
): void {
  describe(`PriceSource: ${name}`, () => {
    let subject: S;
    beforeAll(async () => {
      subject = await start();
    });
    afterAll(() => subject.stop());

    test.each([
      { text: '3125', decimals: 6, want: 3_125_000_000n },
      { text: '0.5', decimals: 18, want: 500_000_000_000_000_000n },
      { text: '2.5', decimals: 24, want: 2_500_000_000_000_000_000_000_000n },
      { text: '1000000', decimals: 8, want: 100_000_000_000_000n },
      { text: '0.000128', decimals: 4, want: 2n },
      { text: '0.5', decimals: 0, want: 1n },
    ])(
      '$text tokens of $decimals decimals are a rate of $want, rounded up',
      async ({ text, decimals, want }) => {
        const token = aServedToken({ decimals });
        const source = await subject.quote(text, token);
        expect(await source.read(token)).toMatchObject({ ok: true, price: { rate: want } });
      },
    );

    test('answers the time of the price, until when it may be used, and its source', async () => {
      const token = aServedToken({});
      const source = await subject.quote('3125', token);
      const answer = await source.read(token);
      if (!answer.ok) throw new Error(formatRefusal(answer.refusal));
      const { observedAt, staleAt = Infinity, source: where } = answer.price;
      // A block's time may be a second ahead.
      expect(observedAt).toBeLessThanOrEqual(systemClock.now() + 1_500);
      expect(observedAt).toBeGreaterThan(systemClock.now() - 60_000);
      expect(staleAt).toBeGreaterThan(systemClock.now());
      expect(where).toMatch(/^[a-z]/);
    });

    test('reads that overlap get the same price, each in the decimals of its token', async () => {
      const [six, nine] = [aServedToken({ decimals: 6 }), aServedToken({ decimals: 9 })];
      const source = await subject.quote('2.5', six);
      const other = await subject.quote('2.5', nine);
      const answers = await Promise.all([source.read(six), source.read(six), other.read(nine)]);
      const rates = answers.map((answer) => (answer.ok ? answer.price.rate : formatRefusal(answer.refusal)));
      expect(rates).toEqual([2_500_000n, 2_500_000n, 2_500_000_000n]);
    });

    test.each(faults)('is refused as $reason: $name', async ({ arrange, reason, says }) => {
      const source = await arrange(subject);
      const answer = await source.read(aServedToken({}));
      if (answer.ok) throw new Error(`it gave the rate ${answer.price.rate}`);
      expect(answer.refusal.reason).toBe(reason);
      expect(formatRefusal(answer.refusal)).toMatch(says);
    });

    test('quotes again as soon as the fault is gone', async () => {
      const token = aServedToken({});
      for (const fault of faults) await (await fault.arrange(subject)).read(token);
      const source = await subject.quote('3125', token);
      // A feed whose decimals were changed is refused once.
      await source.read(token);
      expect(await source.read(token)).toMatchObject({ ok: true, price: { rate: 3_125_000_000n } });
    });
  });
}
