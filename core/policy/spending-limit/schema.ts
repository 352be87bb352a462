import { cycleUnit, exactlyOneOf, instant } from '../../meta/schema-parts.js';
import { boolean, choice, immutable, integer, object, text, type Infer } from '../../schema/structural.js';
import { maxCycleValue, type EpochMs } from '../../units/time.js';
import { calendarUnits, type Calendar } from '../../usage/calendar.js';
import { unitNames, unitRow } from '../../usage/units.js';
import { anyThreshold, perOperationRules, thresholdRules } from './threshold.js';

/** Zero is allowed: a limit of zero refuses everything. */
const threshold = text(
  `The limit as decimal text: ${unitNames.map((unit) => `${unitRow(unit).noun} for ${unit}`).join(', ')}, e.g. "100" or "0.05". Zero refuses everything. Left out where only perOperation bounds.`,
  anyThreshold,
);

const scopes = ['PAYMASTER', 'SMART_ACCOUNT'] as const;

/** How long a limit counts before it begins anew: exactly one of them. */
export const cycleFields = {
  cycleDuration: object(
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
  calendar: object(
    'Windows of a calendar, e.g. {every: month, timeZone: Europe/Berlin}. The count begins anew with each, and goes on when the limit is edited.',
    {
      required: {
        every: choice('day, week (from Monday) or month.', calendarUnits),
        timeZone: text('IANA name of the time zone whose midnight counts, e.g. Europe/Berlin.', {
          minLength: 1,
          maxLength: 64,
          pattern: '^[A-Za-z][A-Za-z0-9_+/-]*$',
          expected: 'the name of a time zone such as Europe/Berlin',
        }),
      },
    },
  ),
  never: object('The count never begins anew by itself: {}.', { optional: {} }),
};

export const oneCycle = exactlyOneOf('cycleDuration', 'calendar', 'never');

export const spendingLimitSchema = object(
  'A limit per cycle, per operation, or both, for policyType PAYMASTER_SA_LIMIT.',
  {
    required: {
      scope: choice(
        'PAYMASTER counts all users together, SMART_ACCOUNT each sender alone. Never changes.',
        scopes,
        immutable('delete this PaymasterPolicy and create another'),
      ),
      thresholdType: choice(
        `What is limited. ${unitNames.map((unit) => `${unit}: ${unitRow(unit).bounds}`).join('; ')}.`,
        unitNames,
      ),
    },
    optional: {
      threshold,
      perOperation: text(
        'The most that one operation may cost, as decimal text in the unit, e.g. "0.50" of USD: compared with what it can cost at most. Not for COUNT.',
        anyThreshold,
      ),
      ...cycleFields,
      restartedAt: instant(
        'Of a calendar or endless limit: a later time than before starts the count anew, e.g. after the usage store has lost its data.',
      ),
      keepCount: boolean(
        'True: another threshold goes on with the count, as it does for calendar and endless limits anyway. Below what is used, nothing passes until the window ends. Default false: with cycleDuration, another threshold starts a new cycle from 0. Another cycleDuration, thresholdType or startTime always does.',
      ),
      assumeUsed: text(
        'Of an endless limit: a new value starts the count anew with so much of the threshold used, in its unit, e.g. after the usage store has lost its data.',
        anyThreshold,
      ),
      startTime: instant(
        'When the first cycle begins, e.g. "2026-12-01T00:00:00Z". A new or changed value starts a new cycle then; absent means when the operator first sees the limit.',
      ),
    },
  },
  ...thresholdRules,
  ...perOperationRules,
  {
    rule: 'has(self.threshold) || has(self.perOperation)',
    message: 'must be given threshold, perOperation, or both',
  },
  { ...oneCycle, rule: `!has(self.threshold) || ${oneCycle.rule}` },
  {
    rule: 'has(self.threshold) || !has(self.cycleDuration) && !has(self.calendar) && !has(self.never) && !has(self.restartedAt)',
    message:
      'must be left without cycleDuration, calendar, never and restartedAt where threshold is left out',
  },
  {
    rule: 'has(self.cycleDuration) || !has(self.startTime)',
    message: 'must be left out without cycleDuration; use restartedAt',
    fieldPath: '.startTime',
  },
  {
    rule: '!has(self.cycleDuration) || !has(self.restartedAt)',
    message: 'must be left out with cycleDuration; use startTime',
    fieldPath: '.restartedAt',
  },
  {
    rule: 'has(self.never) || !has(self.assumeUsed)',
    message: 'must be left out without never',
    fieldPath: '.assumeUsed',
  },
);

export const cycleStatus = object('The cycle in force, and the fields that it was started for.', {
  required: {
    startTime: instant('When the first window began.'),
    scope: choice('Scope at that time.', scopes),
    threshold: text('Threshold at that time.', { maxLength: anyThreshold.maxLength }),
    thresholdType: choice('Kind of threshold at that time.', unitNames),
  },
  optional: {
    durationMs: integer('Length of a window in milliseconds.', {
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
    }),
    calendar: object('The calendar at that time.', {
      required: {
        every: choice('Length of a window.', calendarUnits),
        timeZone: text('Its time zone.', { maxLength: 64 }),
      },
    }),
    assumeUsed: text('What counts as used from the start.', { maxLength: anyThreshold.maxLength }),
    specAssumeUsed: text('spec.spendingLimit.assumeUsed at that time.', {
      maxLength: anyThreshold.maxLength,
    }),
    specStartTime: instant('spec.spendingLimit.startTime at that time.'),
  },
});

export type SpendingLimitSpec = Infer<typeof spendingLimitSchema>;

/** A limit that counts by cycles. */
export type CountedSpec = SpendingLimitSpec & Required<Pick<SpendingLimitSpec, 'threshold'>>;

export function isCounted(spec: SpendingLimitSpec): spec is CountedSpec {
  return spec.threshold !== undefined;
}

/** As in the resource. */
type LimitTerms = Pick<CountedSpec, 'scope' | 'threshold' | 'thresholdType'>;

/** The cycle in force, with the fields for which it was started, so that a change differs from a re-apply. */
export type CycleStatus = Infer<typeof cycleStatus>;

/** What is served for a limit that counts. */
export type LimitConfig = LimitTerms & {
  readonly policyId: string;
  readonly name: string;
  readonly shadow?: true;
  /** An organisation's budget: all its paymasters on the chain count in it. */
  readonly budget?: true;
  readonly campaign?: string;
  readonly startMs: EpochMs;
  readonly durationMs?: number;
  readonly calendar?: Calendar;
  readonly assumeUsed?: string;
  readonly specAssumeUsed?: string;
};
