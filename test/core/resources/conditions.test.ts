import { describe, expect, test } from '@jest/globals';
import { conditionReasons } from '../../../core/meta/condition-reasons.js';
import { finding, setCondition, setConditions } from '../../../core/meta/conditions.js';
import type { EpochMs } from '../../../core/units/time.js';

const t0 = 1_700_000_000_000 as EpochMs;
const t1 = (t0 + 60_000) as EpochMs;
const iso = (ms: number): string => new Date(ms).toISOString();
const accepted = finding('Accepted', 'Accepted');
const first = setCondition([], accepted, 1, t0);

describe('setting a condition', () => {
  test('that is new notes when', () => {
    expect(first).toEqual([{ ...accepted, observedGeneration: 1, lastTransitionTime: iso(t0) }]);
  });

  test('that says the same gives the same object back, so that nothing is written', () => {
    expect(setCondition(first, finding('Accepted', 'Accepted'), 1, t1)).toBe(first);
    expect(setConditions(first, [accepted], 1, t1)).toBe(first);
  });

  test('moves lastTransitionTime only with the status', () => {
    const refused = setCondition(first, finding('Accepted', 'Invalid', 'abi is wrong'), 2, t1);
    expect(refused[0]?.lastTransitionTime).toBe(iso(t1));
    const reworded = setCondition(refused, finding('Accepted', 'NameConflict'), 2, (t1 + 1) as EpochMs);
    expect(reworded[0]).toMatchObject({ reason: 'NameConflict', lastTransitionTime: iso(t1) });
  });

  test('follows the generation without moving the time', () => {
    expect(setCondition(first, accepted, 2, t1)[0]).toMatchObject({
      observedGeneration: 2,
      lastTransitionTime: iso(t0),
    });
  });

  test('never changes its input', () => {
    const frozen = Object.freeze([...first].map((condition) => Object.freeze({ ...condition })));
    expect(() => setCondition(frozen, finding('Accepted', 'Invalid'), 2, t1)).not.toThrow();
  });
});

test('setting all conditions removes those that no longer apply', () => {
  const two = setConditions(first, [accepted, finding('Funded', 'Low')], 1, t1);
  expect(two.map((condition) => condition.type)).toEqual(['Accepted', 'Funded']);
  expect(setConditions(two, [accepted], 1, t1).map((condition) => condition.type)).toEqual(['Accepted']);
});

test('every documented reason is in PascalCase and says something', () => {
  for (const [type, reasons] of Object.entries(conditionReasons))
    for (const [reason, { text }] of Object.entries(reasons)) {
      expect(`${type}/${reason}`).toMatch(/^[A-Z][A-Za-z]+\/[A-Z][A-Za-z]+$/);
      expect(text).toMatch(/^[A-Z].*\.$/);
    }
});
