import { describe, expect, test } from '@jest/globals';
import { decideCycle } from '../../../core/policy/spending-limit/cycle.js';
import type { SpendingLimitSpec } from '../../../core/policy/spending-limit/spec.js';
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

  test.each<{ name: string; change: Partial<SpendingLimitSpec> }>([
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
