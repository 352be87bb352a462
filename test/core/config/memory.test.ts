import { describe, expect, test } from '@jest/globals';
import { deriveApiKey, hashCredential } from '../../../core/config/api-key.js';
import { compilePaymaster } from '../../../core/config/compile.js';
import type { CompiledPaymaster } from '../../../core/config/compile.js';
import type { PaymasterConfig } from '../../../core/config/paymaster-config.js';
import type { PaymasterSources } from '../../../core/config/sources.js';
import { buryPaymaster } from '../../../core/config/tombstone.js';
import { plusMs } from '../../../core/units/time.js';
import { aLimit, aPaymaster, aPolicy } from '../../build/resources.js';
import { someNow, someSources } from '../../build/sources.js';

/** Within one tenant a name is an identity: a deleted and recreated object goes on where it stopped. */

const hour = 3_600_000;
const at = (hours: number) => plusMs(someNow, hours * hour);
const compile = (hours: number, overrides: Partial<PaymasterSources> = {}): CompiledPaymaster =>
  compilePaymaster(someSources({ now: at(hours), ...overrides }));
const startOf = ({ config }: CompiledPaymaster): number | undefined => config.limits[0]?.startMs;
const keyOf = (keyGeneration: number): string =>
  hashCredential(
    deriveApiKey(new Uint8Array(32).fill(1), { namespace: 'acme', name: 'shop', keyGeneration }),
  );
const hashesOf = ({ keys }: PaymasterConfig) => keys.map(({ sha256 }) => sha256);

describe('a limit of a day that is deleted and made again', () => {
  const served = compile(0, { policies: [aPolicy()] }).config;
  const gone = (hours: number, previous = served) => compile(hours, { previous }).config;

  test('goes on with its cycle within its window', () => {
    expect(startOf(compile(7, { policies: [aPolicy()], previous: gone(5) }))).toBe(at(0));
  });

  test('also when it is recreated before anybody saw the deletion, and with a new start', () => {
    const again = aPolicy({ spendingLimit: { ...aLimit, startTime: '2026-02-01T07:00:00.000Z' } });
    for (const previous of [served, gone(5)])
      expect(startOf(compile(7, { policies: [again], previous }))).toBe(at(0));
  });

  test('starts a cycle once its window is over', () => {
    expect(startOf(compile(25, { policies: [aPolicy()], previous: gone(5) }))).toBe(at(25));
  });

  test('starts a cycle with another threshold, like an update', () => {
    const other = aPolicy({ spendingLimit: { ...aLimit, threshold: '11' } });
    expect(startOf(compile(7, { policies: [other], previous: gone(5) }))).toBe(at(7));
  });

  test('goes on although it was paused before', () => {
    const cycle = compile(0, { policies: [aPolicy()] }).policies[0]?.cycle;
    const paused = aPolicy({ active: false, status: { ...(cycle && { cycle }) } });
    const previous = compile(2, { policies: [paused], previous: served }).config;
    expect(previous.limits).toEqual([]);
    expect(startOf(compile(7, { policies: [aPolicy()], previous: gone(5, previous) }))).toBe(at(0));
  });

  test('goes on although it bounded only each operation before', () => {
    const { scope } = aLimit;
    const each = { scope, thresholdType: 'NATIVE_ASSET', perOperation: '1' } as const;
    const cycle = compile(0, { policies: [aPolicy()] }).policies[0]?.cycle;
    const changed = aPolicy({ spendingLimit: each, status: { ...(cycle && { cycle }) } });
    const previous = compile(2, { policies: [changed], previous: served }).config;
    expect(previous.limits).toEqual([]);
    // Deleted alone, and with its Paymaster.
    for (const deleted of [gone(5, previous), buryPaymaster(previous, at(5))])
      expect(startOf(compile(7, { policies: [aPolicy()], previous: deleted }))).toBe(at(0));
    expect(startOf(compile(25, { policies: [aPolicy()], previous: gone(5, previous) }))).toBe(at(25));
    // Made again as it was, it may count again later.
    const again = aPolicy({ spendingLimit: each });
    const remade = compile(6, { policies: [again], previous: gone(5, previous) });
    expect(remade.policies[0]?.cycle?.startTime).toBe(cycle?.startTime);
  });

  test('goes on when its Paymaster was deleted with it', () => {
    const tombstone = buryPaymaster(served, at(5));
    expect(startOf(compile(7, { policies: [aPolicy()], previous: tombstone }))).toBe(at(0));
    const alone = compile(6, { previous: tombstone }).config;
    expect(startOf(compile(7, { policies: [aPolicy()], previous: alone }))).toBe(at(0));
  });

  test('is forgotten neither by others that come and go, nor does it grow without bound', () => {
    let previous = gone(1);
    for (let index = 0; index < 300; index += 1) {
      const spendingLimit = { ...aLimit, cycleDuration: { value: 1, unit: 'hour' as const } };
      const other = aPolicy({ meta: { name: `o${index}` }, name: `O${index}`, spendingLimit });
      previous = gone(1, compile(1, { policies: [other], previous }).config);
    }
    expect(previous.memory?.cycles).toHaveLength(100);
    expect(startOf(compile(7, { policies: [aPolicy()], previous }))).toBe(at(0));
  });

  test('does not change the served config while time passes', () => {
    const previous = gone(5);
    expect(compile(30, { previous }).config).toEqual(previous);
  });
});

describe.each([
  { name: 'calendar', kind: { calendar: { every: 'month', timeZone: 'UTC' } } },
  { name: 'endless', kind: { never: {} } },
] as const)('a limit that is $name', ({ kind }) => {
  const { cycleDuration: _, ...rest } = aLimit;
  const limit = { ...rest, ...kind };
  const served = compile(0, { policies: [aPolicy({ spendingLimit: limit })] }).config;
  const gone = compile(5, { previous: served }).config;

  test.each([1, 2])('goes on when it is made again and first seen in generation %d', (generation) => {
    const again = aPolicy({ meta: { generation }, spendingLimit: { ...limit, threshold: '99' } });
    expect(startOf(compile(7, { policies: [again], previous: gone }))).toBe(at(0));
  });
});

describe('a Paymaster that is deleted and made again', () => {
  const rotated = compile(0, { paymaster: aPaymaster({ keyGeneration: 3 }) }).config;
  const tombstone = buryPaymaster(rotated, at(1));

  test('without a key generation keeps the key that it had, and brings no rotated one back', () => {
    const again = compile(2, { previous: tombstone });
    expect(hashesOf(again.config)).toEqual([keyOf(3)]);
    expect(again.status.keyGeneration).toBe(3);
    expect(again.config.memory?.keyGeneration).toBe(3);
  });

  test('brings none back by an overlap either', () => {
    const paymaster = aPaymaster({ keyGeneration: 2, previousKeyUntil: '2027-01-01T00:00:00Z' });
    expect(hashesOf(compile(2, { paymaster, previous: tombstone }).config)).toEqual([keyOf(3)]);
  });

  test('with a higher key generation rotates as ever', () => {
    const paymaster = aPaymaster({ keyGeneration: 4 });
    const again = compile(2, { paymaster, previous: tombstone });
    expect(hashesOf(again.config)).toEqual([keyOf(4)]);
    expect(again.status.keyGeneration).toBeUndefined();
  });

  test('a second time remembers still', () => {
    const again = compile(2, { previous: tombstone }).config;
    expect(hashesOf(compile(4, { previous: buryPaymaster(again, at(3)) }).config)).toEqual([keyOf(3)]);
  });

  test('without ever having been rotated has nothing to remember', () => {
    expect(compile(0).config.memory).toBeUndefined();
    expect(buryPaymaster(compile(0).config, at(1)).memory).toBeUndefined();
  });
});
