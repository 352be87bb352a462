import { cycleUnit, instant } from '../../meta/schema-parts.js';
import { choice, immutable, integer, object, text } from '../../schema/structural.js';
import { maxCycleValue } from '../../units/time.js';
import type { CycleStatus, SpendingLimitSpec } from './spec.js';

/** Zero is allowed: a limit of zero refuses everything. */
const threshold = text(
  'The limit as decimal text: a number of operations for COUNT, ether for NATIVE_ASSET, e.g. "100" or "0.05". Zero refuses everything.',
  {
    minLength: 1,
    maxLength: 34,
    pattern: '^(0|[1-9][0-9]{0,14})(\\.[0-9]{1,18})?$',
    expected:
      'decimal text in quotes such as "0.05": not negative, at most 15 digits before and 18 after the point',
  },
);

const scopes = ['PAYMASTER', 'SMART_ACCOUNT'] as const;
const thresholdTypes = ['COUNT', 'NATIVE_ASSET'] as const;

export const spendingLimitSchema = object<SpendingLimitSpec>(
  'A limit per cycle, for policyType PAYMASTER_SA_LIMIT.',
  {
    required: {
      scope: choice(
        'PAYMASTER counts all users together, SMART_ACCOUNT each sender alone. Never changes.',
        scopes,
        immutable('delete this PaymasterPolicy and create another'),
      ),
      cycleDuration: object<SpendingLimitSpec['cycleDuration']>(
        'Length of a cycle, e.g. {value: 1, unit: day}; the count begins anew with each.',
        {
          required: {
            value: integer('Number of units, e.g. 7.', { minimum: 1, maximum: maxCycleValue.hour }),
            unit: cycleUnit('hour or day.'),
          },
        },
        {
          rule: `self.unit != 'day' || self.value <= ${maxCycleValue.day}`,
          message: `must be at most one year: ${maxCycleValue.day} days or ${maxCycleValue.hour} hours`,
          fieldPath: '.value',
        },
      ),
      threshold,
      thresholdType: choice(
        'COUNT limits the number of user operations, NATIVE_ASSET the gas that is paid for them.',
        thresholdTypes,
      ),
    },
    optional: {
      startTime: instant(
        'When the first cycle begins, e.g. "2026-12-01T00:00:00Z". A new or changed value starts a new cycle then; absent means when the operator first sees the limit.',
      ),
    },
  },
  {
    rule: "self.thresholdType != 'COUNT' || self.threshold.matches('^[0-9]+$')",
    message: 'must be a whole number when thresholdType is COUNT; use NATIVE_ASSET for amounts of ether',
    fieldPath: '.threshold',
  },
);

export const cycleStatus = object<CycleStatus>(
  'The cycle in force, and the fields that it was started for.',
  {
    required: {
      startTime: instant('When the first window began.'),
      durationMs: integer('Length of a window in milliseconds.', {
        minimum: 1,
        maximum: Number.MAX_SAFE_INTEGER,
      }),
      scope: choice('Scope at that time.', scopes),
      threshold: text('Threshold at that time.', { maxLength: 34 }),
      thresholdType: choice('Kind of threshold at that time.', thresholdTypes),
    },
    optional: { specStartTime: instant('spec.spendingLimit.startTime at that time.') },
  },
);
