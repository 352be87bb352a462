import { describe, expect, test } from '@jest/globals';
import { createPace } from '../../../adapters/signer/pace.js';

/** A signer that makes `perSecond` signatures a second, of which it can make a tenth at once, and those who ask it; in made-up time. */
function someSigner() {
  let now = 0;
  let tokens = 0;
  const pace = createPace(() => now);
  const calls: { readonly answeredAt: number; readonly throttled: boolean }[] = [];
  const signer = { perSecond: 200 };
  let answered = 0;
  let offered = 0;
  let waiting = 0;

  return {
    signer,
    /** Lets time go by, in which so many ask a second; a throttled call waits again. */
    ask(perSecond: number, milliseconds: number) {
      const before = calls.length;
      const startedAt = now;
      for (const end = now + milliseconds; now < end; now += 1) {
        tokens = Math.min(Math.max(1, signer.perSecond / 10), tokens + signer.perSecond / 1_000);
        for (offered += perSecond / 1_000; offered >= 1; offered -= 1) waiting += 1;
        for (; calls[answered]?.answeredAt === now; answered += 1) {
          if (calls[answered]?.throttled !== true) continue;
          pace.throttled();
          waiting += 1;
        }
        for (; waiting > 0 && pace.delayMs() === 0; waiting -= 1) {
          pace.pass();
          const throttled = tokens < 1;
          if (!throttled) tokens -= 1;
          calls.push({ answeredAt: now + 5, throttled });
        }
      }
      const made = calls.slice(before);
      const throttled = made.filter((each) => each.throttled).length;
      // Those who wait have given up.
      waiting = 0;
      return {
        perSecond: (1_000 * (made.length - throttled)) / (now - startedAt),
        share: throttled / made.length,
      };
    },
  };
}

describe('The pace of calls to a signer', () => {
  test('holds nobody back who is not throttled', () => {
    const { ask } = someSigner();
    expect(ask(150, 10_000)).toMatchObject({ perSecond: expect.closeTo(150, 0), share: 0 });
  });

  test.each([20, 50, 200, 1_000])(
    'is that of a quota of %s a second which it was not told, with few calls in vain',
    (quota) => {
      const { ask, signer } = someSigner();
      signer.perSecond = quota;
      ask(3 * quota, 5_000);
      const { perSecond, share } = ask(3 * quota, 20_000);
      expect(perSecond).toBeGreaterThan(0.9 * quota);
      expect(share).toBeLessThan(0.15);
    },
  );

  test('follows a quota that others use up, and one that grows', () => {
    const { ask, signer } = someSigner();
    ask(2_000, 5_000);
    signer.perSecond = 20;
    ask(2_000, 2_000);
    expect(ask(2_000, 10_000)).toMatchObject({ perSecond: expect.closeTo(20, -1) });
    signer.perSecond = 1_000;
    ask(2_000, 3_000);
    expect(ask(2_000, 5_000).perSecond).toBeGreaterThan(950);
  });

  test('asks a signer that throttles every call four times a second, and is back in seconds', () => {
    const { ask, signer } = someSigner();
    ask(400, 2_000);
    signer.perSecond = 0;
    ask(400, 3_000);
    const { perSecond } = ask(400, 10_000);
    expect(perSecond).toBeLessThan(1);
    signer.perSecond = 200;
    ask(400, 3_000);
    expect(ask(400, 5_000).perSecond).toBeGreaterThan(190);
  });

  test('makes up for a timer that fires late, and never for a time in which nobody asked', () => {
    let now = 0;
    const pace = createPace(() => now);
    pace.pass();
    pace.throttled();
    // Four a second.
    for (let at = 0; at < 3; at += 1) {
      now += 60_000;
      expect(pace.delayMs()).toBe(0);
      pace.pass();
      expect(pace.delayMs()).toBeGreaterThan(150);
    }
  });
});
