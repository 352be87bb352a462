import { cycleUnit, instant } from '../../meta/schema-parts.js';
import { choice, immutable, integer, object, text } from '../../schema/structural.js';
import { maxCycleValue } from '../../units/time.js';
import { unitNames, unitOf } from '../../usage/units.js';
import type { CycleStatus, SpendingLimitSpec } from './spec.js';
import { anyThreshold, thresholdRules } from './threshold.js';

/** Zero is allowed: a limit of zero refuses everything. */
const threshold = text(
  `The limit as decimal text: ${unitNames.map((unit) => `${unitOf(unit).noun} for ${unit}`).join(', ')}, e.g. "100" or "0.05". Zero refuses everything.`,
  anyThreshold,
);

const scopes = ['PAYMASTER', 'SMART_ACCOUNT'] as const;

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
        `What is limited. ${unitNames.map((unit) => `${unit}: ${unitOf(unit).bounds}`).join('; ')}.`,
        unitNames,
      ),
    },
    optional: {
      startTime: instant(
        'When the first cycle begins, e.g. "2026-12-01T00:00:00Z". A new or changed value starts a new cycle then; absent means when the operator first sees the limit.',
      ),
    },
  },
  ...thresholdRules,
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
      threshold: text('Threshold at that time.', { maxLength: anyThreshold.maxLength }),
      thresholdType: choice('Kind of threshold at that time.', unitNames),
    },
    optional: { specStartTime: instant('spec.spendingLimit.startTime at that time.') },
  },
);
