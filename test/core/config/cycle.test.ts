import { describe, expect, test } from '@jest/globals';
import { compileLimits, limitShares } from '../../../core/policy/spending-limit/shares.js';
import { noCost } from '../../../core/usage/unit.js';
import { sender } from '../../conformance/usage-requests.js';
import { aLimitConfig } from '../../build/configs.js';
import { decideCycle } from '../../../core/policy/spending-limit/cycle.js';
import { countLeft, describeCountLeft } from '../../../core/policy/spending-limit/count-left.js';
import type {
  CountedSpec,
  CycleStatus,
  SpendingLimitSpec,
} from '../../../core/policy/spending-limit/schema.js';
import type { EpochMs } from '../../../core/units/time.js';
import { aLimit } from '../../build/resources.js';

const t0 = Date.parse('2026-02-01T00:00:00.000Z') as EpochMs;
const t1 = (t0 + 3_600_000) as EpochMs;
const at = (ms: number): string => new Date(ms).toISOString();
const first = decideCycle(aLimit, undefined, undefined, t0);

describe('the cycle of a limit', () => {
  test('starts when the operator first sees it', () => {
    expect(first).toEqual({
      startTime: at(t0),
      durationMs: 86_400_000,
      scope: 'PAYMASTER',
      threshold: '10',
      thresholdType: 'COUNT',
    });
  });

  test('starts at startTime when that is given', () => {
    const startTime = '2026-01-15T08:00:00+02:00';
    const cycle = decideCycle({ ...aLimit, startTime }, undefined, undefined, t0);
    expect(cycle).toMatchObject({ startTime: '2026-01-15T06:00:00.000Z', specStartTime: startTime });
  });

  test('goes on while nothing changes, and is the very same object', () => {
    expect(decideCycle({ ...aLimit }, first, undefined, t1)).toBe(first);
  });

  test.each<{ name: string; change: Partial<CountedSpec> }>([
    { name: 'the threshold', change: { threshold: '11' } },
    { name: 'the kind of threshold', change: { thresholdType: 'NATIVE_ASSET' } },
    { name: 'the duration', change: { cycleDuration: { value: 2, unit: 'day' } } },
    { name: 'the scope', change: { scope: 'SMART_ACCOUNT' } },
  ])('restarts when $name changes', ({ change }) => {
    expect(decideCycle({ ...aLimit, ...change }, first, undefined, t1).startTime).toBe(at(t1));
  });

  test('goes on when the duration is only written in another unit', () => {
    const hours = { ...aLimit, cycleDuration: { value: 24, unit: 'hour' } as const };
    expect(decideCycle(hours, first, undefined, t1)).toBe(first);
  });

  test('restarts at a new startTime also with equal values', () => {
    const restarted = decideCycle({ ...aLimit, startTime: at(t1) }, first, undefined, t1);
    expect(restarted.startTime).toBe(at(t1));
    const again = decideCycle({ ...aLimit, startTime: at(t1) }, restarted, undefined, (t1 + 1) as EpochMs);
    expect(again).toBe(restarted);
  });

  test('goes on when startTime is removed, which is not a restart', () => {
    const started = decideCycle({ ...aLimit, startTime: at(t1) }, first, undefined, t1);
    const { specStartTime: _, ...rest } = started;
    expect(decideCycle(aLimit, started, undefined, (t1 + 1) as EpochMs)).toEqual(rest);
  });

  test('restarts at a change after a startTime that stays as it is', () => {
    const started = decideCycle({ ...aLimit, startTime: at(t0) }, undefined, undefined, t0);
    const changed = decideCycle({ ...aLimit, startTime: at(t0), threshold: '5' }, started, undefined, t1);
    expect(changed.startTime).toBe(at(t1));
  });

  test('does not restart again when a change was served before its status was written', () => {
    const changed = { ...aLimit, threshold: '11' };
    const { startTime: _, specStartTime: __, ...fields } = decideCycle(changed, first, undefined, t1);
    const served = { ...fields, policyId: 'p', name: 'Daily', startMs: t1 };
    const later = (t1 + 5_000) as EpochMs;
    expect(decideCycle(changed, first, served, later).startTime).toBe(at(t1));
    expect(decideCycle(changed, undefined, served, later).startTime).toBe(at(t1));
  });
});

describe('a limit with keepCount', () => {
  const keeping = { ...aLimit, keepCount: true };

  test('goes on when the threshold changes, up or down, however often', () => {
    const raised = decideCycle({ ...keeping, threshold: '20' }, first, undefined, t1);
    expect(raised).toEqual({ ...first, threshold: '20' });
    expect(decideCycle({ ...keeping, threshold: '5' }, raised, undefined, t1).startTime).toBe(at(t0));
  });

  test('goes on when keepCount is given or taken away', () => {
    expect(decideCycle(keeping, first, undefined, t1)).toBe(first);
    expect(decideCycle(aLimit, first, undefined, t1)).toBe(first);
  });

  test.each<{ name: string; change: Partial<CountedSpec> }>([
    { name: 'the kind of threshold', change: { thresholdType: 'NATIVE_ASSET' } },
    { name: 'the duration', change: { cycleDuration: { value: 2, unit: 'day' } } },
    { name: 'startTime, too,', change: { startTime: at(t1) } },
  ])('restarts when $name changes', ({ change }) => {
    const changed = { ...keeping, threshold: '20', ...change };
    expect(decideCycle(changed, first, undefined, t1).startTime).toBe(at(t1));
  });

  test('goes on with the count that is served, also when the status still records an older one', () => {
    const { startTime: _, ...fields } = decideCycle({ ...aLimit, threshold: '11' }, first, undefined, t1);
    const served = { ...fields, policyId: 'p', name: 'Daily', startMs: t1 };
    const changed = { ...keeping, threshold: '12' };
    expect(decideCycle(changed, first, served, (t1 + 5_000) as EpochMs).startTime).toBe(at(t1));
  });

  test('that is made again with another threshold goes on', () => {
    const again = decideCycle({ ...keeping, threshold: '20' }, undefined, undefined, t1, first);
    expect(again.startTime).toBe(at(t0));
  });
});

describe('a change leaves a count behind', () => {
  const left = (
    before: SpendingLimitSpec,
    after: SpendingLimitSpec,
    cycle: CycleStatus | undefined = first,
  ) => countLeft(before, after, { policyId: 'p', cycle, now: t1 });
  const { cycleDuration: _, ...rest } = aLimit;
  const monthly: CountedSpec = { ...rest, calendar: { every: 'month', timeZone: 'UTC' } };

  test.each<{ name: string; change: Partial<CountedSpec>; canBeKept: boolean }>([
    { name: 'the threshold', change: { threshold: '11' }, canBeKept: true },
    { name: 'startTime', change: { startTime: at(t1) }, canBeKept: false },
    { name: 'the duration', change: { cycleDuration: { value: 2, unit: 'day' } }, canBeKept: false },
  ])('when it is one of $name', ({ change, canBeKept }) => {
    for (const cycle of [first, undefined]) {
      const expected = { unit: 'COUNT', threshold: 10, perSender: false, canBeKept };
      expect(left(aLimit, { ...aLimit, ...change }, cycle)).toMatchObject(expected);
    }
    expect(left(aLimit, { ...aLimit, ...change })?.counter).toBe(`p/${t0}/0/`);
  });

  test.each<{ name: string; before?: SpendingLimitSpec; after: SpendingLimitSpec }>([
    { name: 'nothing', after: { ...aLimit } },
    { name: 'the threshold with keepCount', after: { ...aLimit, threshold: '11', keepCount: true } },
    { name: 'the amount of a calendar limit', before: monthly, after: { ...monthly, threshold: '11' } },
    { name: 'a threshold that is taken away', after: { scope: 'PAYMASTER', thresholdType: 'COUNT' } },
  ])('never when it is one of $name', ({ before = aLimit, after }) => {
    const cycle = before === aLimit ? first : undefined;
    expect(left(before, after, cycle)).toBeUndefined();
  });

  test('when a threshold that was taken away is given again with another amount', () => {
    const without: SpendingLimitSpec = { scope: 'PAYMASTER', thresholdType: 'COUNT', perOperation: '1' };
    expect(left(without, aLimit)).toBeUndefined();
    expect(left(without, { ...aLimit, threshold: '11' })).toMatchObject({ threshold: 10 });
  });

  test('and people read how much, in the unit of the limit', () => {
    const changed = left(aLimit, { ...aLimit, threshold: '11' })!;
    const says = describeCountLeft(changed, { used: 6, reserved: 1 });
    expect(says).toBe('the count begins anew: 7 of 10 operations forgotten');
    expect(describeCountLeft(changed, undefined)).toContain('what was used of 10 operations');
    const coins = { ...aLimit, thresholdType: 'NATIVE_ASSET', threshold: '2' } as const;
    const ofCoins = left(coins, { ...coins, threshold: '3' }, undefined)!;
    expect(describeCountLeft(ofCoins, { used: 500_000_000, reserved: 0 })).toContain('0.5 of 2 ');
    const each = { ...aLimit, scope: 'SMART_ACCOUNT' } as const;
    const ofEach = left(each, { ...each, threshold: '11' }, undefined)!;
    expect(describeCountLeft(ofEach, undefined)).toContain('each account has used of 10 operations');
  });
});

describe.each([
  { name: 'a calendar limit', kind: { calendar: { every: 'month', timeZone: 'Europe/Berlin' } } },
  { name: 'an endless limit', kind: { never: {} } },
] as const)('the count of $name', ({ kind }) => {
  const { cycleDuration: _, ...rest } = aLimit;
  const limit: CountedSpec = { ...rest, ...kind };
  const begun = decideCycle(limit, undefined, undefined, t0);
  const later = (ms: number): EpochMs => (t0 + ms) as EpochMs;

  test('starts when the operator first sees it', () => {
    expect(begun).toMatchObject({ startTime: at(t0) });
    expect(begun.durationMs).toBeUndefined();
  });

  test.each<{ name: string; change: Partial<CountedSpec> }>([
    { name: 'nothing', change: {} },
    { name: 'the threshold', change: { threshold: '11' } },
    {
      name: 'the time zone',
      change: 'calendar' in kind ? { calendar: { ...kind.calendar, timeZone: 'UTC' } } : {},
    },
  ])('goes on when $name changes in the middle of a window', ({ change }) => {
    const now = decideCycle({ ...limit, ...change }, begun, undefined, t1);
    expect(now.startTime).toBe(begun.startTime);
    expect(now === begun).toBe(Object.keys(change).length === 0);
  });

  test('starts anew at a later restartedAt, once; an earlier one, or none, brings no former count back', () => {
    const restartedAt = at(t1);
    const anew = decideCycle({ ...limit, restartedAt }, begun, undefined, later(3_700_000));
    expect(anew.startTime).toBe(restartedAt);
    expect(decideCycle({ ...limit, restartedAt }, anew, undefined, later(9_000_000))).toBe(anew);
    for (const other of [{}, { restartedAt: at(t0 - 1) }, { restartedAt: at(t0 + 1) }])
      expect(decideCycle({ ...limit, ...other }, anew, undefined, later(9_000_000)).startTime).toBe(
        restartedAt,
      );
  });

  test('does not start in the future, where a loss of data could not be noticed', () => {
    const ahead = decideCycle({ ...limit, restartedAt: '2099-01-01T00:00:00Z' }, begun, undefined, t1);
    expect(ahead.startTime).toBe(begun.startTime);
  });

  test('goes on when the object is deleted and made again, whatever its threshold is then', () => {
    const again = decideCycle({ ...limit, threshold: '12' }, undefined, undefined, t1, begun);
    expect(again).toMatchObject({ startTime: begun.startTime, threshold: '12' });
  });

  test('is not started a second time when the status of a start was never written', () => {
    const restarted = { ...limit, assumeUsed: '3' };
    const { startTime, ...terms } = decideCycle(restarted, begun, undefined, t1);
    const served = { ...terms, policyId: 'p', name: 'n', startMs: Date.parse(startTime) as EpochMs };
    expect(decideCycle(restarted, begun, served, later(9_000_000)).startTime).toBe(startTime);
  });
});

describe('what an endless limit assumes as used', () => {
  const { cycleDuration: _, ...rest } = aLimit;
  const limit: CountedSpec = { ...rest, never: {} };
  const begun = decideCycle(limit, undefined, undefined, t0);
  const assumed = decideCycle({ ...limit, assumeUsed: '4' }, begun, undefined, t1);

  test('starts the count anew, with so much used', () => {
    expect(assumed).toMatchObject({ startTime: at(t1), assumeUsed: '4' });
    const [share] = limitShares(compileLimits([{ ...aLimitConfig({ threshold: '10' }), assumeUsed: '4' }]), {
      sender,
      cost: noCost,
      now: t1,
    });
    expect(share).toMatchObject({ threshold: 6 });
  });

  test('is nothing once the limit has a calendar, and is remembered for when it is endless again', () => {
    const calendar = { every: 'day', timeZone: 'UTC' } as const;
    const { never: _, ...lasting } = limit;
    const daily = decideCycle({ ...lasting, calendar }, assumed, undefined, (t1 + 5) as EpochMs);
    const served = { ...aLimitConfig({ threshold: '10', calendar, startMs: t1 }), assumeUsed: '4' };
    const { durationMs: __, ...daylong } = served;
    const [share] = limitShares(compileLimits([daylong]), { sender, cost: noCost, now: t1 });
    expect(share).toMatchObject({ threshold: 10 });
    expect(decideCycle(limit, daily, undefined, (t1 + 9) as EpochMs)).toMatchObject({ assumeUsed: '4' });
  });

  test('stays in force when the field is removed, so that removing it frees nothing', () => {
    const removed = decideCycle(limit, assumed, undefined, (t1 + 5) as EpochMs);
    expect(removed).toMatchObject({ startTime: at(t1), assumeUsed: '4' });
  });

  test('ends with a later restart, although the field is still there', () => {
    const restarted = { ...limit, assumeUsed: '4', restartedAt: at(t1 + 10) };
    const anew = decideCycle(restarted, assumed, undefined, (t1 + 20) as EpochMs);
    expect(anew).toMatchObject({ startTime: at(t1 + 10) });
    expect(anew.assumeUsed).toBeUndefined();
    expect(decideCycle(restarted, anew, undefined, (t1 + 30) as EpochMs)).toBe(anew);
  });
});
