import { quote, type Problem } from '../../errors.js';
import { cycleUnit } from '../../meta/schema-parts.js';
import { record as jsonRecord } from '../../schema/json-schema.js';
import { readField, isObject } from '../../schema/json-value.js';
import { choice, object, type Infer, type SchemaOf } from '../../schema/structural.js';
import { decimalText } from '../../units/decimal-text.js';
import { calendarUnits } from '../../usage/calendar.js';
import { unitNames, type Unit } from '../../usage/units.js';
import { cycleUnits, maxCycleValue } from '../../units/time.js';
import type { PolicyRecord, PolicyToRender } from '../kind.js';
import { isCounted, type CountedSpec, type SpendingLimitSpec } from './schema.js';
import { thresholdProblem } from './threshold.js';

export type DocumentedLimit = CountedSpec & Required<Pick<CountedSpec, 'cycleDuration'>>;

/** The units of the service document; its endpoints make limits of no other. */
const documentUnits = ['COUNT', 'NATIVE_ASSET'] as const satisfies readonly Unit[];
type DocumentUnit = (typeof documentUnits)[number];

const cycleValue: SchemaOf<number> = {
  type: 'integer',
  description: 'Number of units: at most 8,760 hours or 365 days.',
  minimum: 1,
  maximum: 8760,
  expected: 'a whole number from 1 to 8760 (hour) or 365 (day)',
};
const cycleDuration = object('Length of the cycle.', {
  required: { value: cycleValue, unit: cycleUnit('Unit of the cycle.') },
});
const threshold: SchemaOf<number> = {
  type: 'number',
  description: 'COUNT: user operations per cycle. NATIVE_ASSET: gas spend per cycle in the native token.',
  minimum: 0,
  expected: 'a number of 0 or more',
};
const thresholdType = choice('What is counted.', documentUnits);
const scope = choice('PAYMASTER: all users together. SMART_ACCOUNT: each user for itself.', [
  'PAYMASTER',
  'SMART_ACCOUNT',
]);

/** Fields of a limit in requests that create or update it. */
export const limitFields = { type: scope, cycleDuration, threshold, thresholdType };
const body = object('Data of a spending limit.', { required: limitFields });
export type LimitBody = Infer<typeof body>;

const cycleRecord = jsonRecord({
  value: { type: 'integer', minimum: 1 },
  unit: { enum: ['hour', 'day'] },
});

export const limitRecord: PolicyRecord<SpendingLimitSpec, LimitBody> = {
  body,
  normalise: withCycle,
  problems: limitProblems,
  specOf: ({ type, cycleDuration: cycle, threshold: most, thresholdType: counted }, now) => ({
    scope: type,
    cycleDuration: cycle,
    threshold: decimalText(most),
    thresholdType: counted,
    startTime: new Date(now).toISOString(),
  }),
  render: (policy) => {
    const { spec } = policy;
    if (!isDocumented(spec)) return { ...spec };
    return {
      type: spec.scope,
      cycleDuration: spec.cycleDuration,
      threshold: Number(spec.threshold),
      thresholdType: spec.thresholdType,
      startTimeInEpoch: cycleStartMs(policy),
      durationInMs: spec.cycleDuration.value * cycleUnits[spec.cycleDuration.unit],
    };
  },
  beyond: {
    type: 'SPENDING_LIMIT',
    covers: (spec) => !isDocumented(spec),
    answer: {
      required: { scope: { enum: ['PAYMASTER', 'SMART_ACCOUNT'] }, thresholdType: { enum: unitNames } },
      optional: {
        threshold: { type: 'string' },
        perOperation: { type: 'string' },
        cycleDuration: cycleRecord,
        calendar: jsonRecord({ every: { enum: calendarUnits }, timeZone: { type: 'string' } }),
        never: jsonRecord({}),
        startTime: { type: 'string' },
        restartedAt: { type: 'string' },
        keepCount: { type: 'boolean' },
        assumeUsed: { type: 'string' },
      },
    },
  },
  answer: {
    required: {
      type: { enum: ['PAYMASTER', 'SMART_ACCOUNT'] },
      cycleDuration: cycleRecord,
      threshold: { type: 'number', minimum: 0 },
      thresholdType: { enum: documentUnits },
      startTimeInEpoch: { type: 'integer', description: 'Epoch milliseconds.' },
      durationInMs: { type: 'integer', minimum: 3_600_000 },
    },
  },
};

/**
 * When the cycle in force began, in milliseconds: the policy's startTime, unless the operator has restarted the cycle
 * since then.
 */
function cycleStartMs({ metadata, spec, status }: PolicyToRender<SpendingLimitSpec>): number {
  const stated = spec.startTime;
  const observed = status?.cycle;
  if (stated !== undefined && observed?.specStartTime !== stated) return Date.parse(stated);
  return Date.parse(observed?.startTime ?? stated ?? metadata.creationTimestamp);
}

/** The document gives `cycleDuration` of an update the type string: the JSON text of the object is accepted too. */
export function withCycle(data: unknown): unknown {
  if (!isObject(data)) return data;
  const text = data['cycleDuration'];
  if (typeof text !== 'string' || text.length > maxCycleLength) return data;
  try {
    const parsed: unknown = JSON.parse(text);
    return { ...data, cycleDuration: parsed };
  } catch {
    return data;
  }
}

/** Generous for two members, spaces included. */
const maxCycleLength = 1_000;

/** Whether the service document can express the limit. */
export function isDocumented(spec: SpendingLimitSpec): spec is DocumentedLimit {
  return (
    isCounted(spec) &&
    isDocumentUnit(spec.thresholdType) &&
    spec.cycleDuration !== undefined &&
    spec.perOperation === undefined
  );
}

function isDocumentUnit(type: unknown): type is DocumentUnit {
  return documentUnits.some((unit) => unit === type);
}

/** Problems of a new limit or of a change, in which any field may be absent. */
export function limitProblems(data: unknown, prefix: string): readonly Problem[] {
  const most = readField(data, 'threshold');
  const type = readField(data, 'thresholdType');
  const cycle = readField(data, 'cycleDuration');
  const value = readField(cycle, 'value');
  const problems: (Problem | undefined)[] = [];
  if (typeof most === 'number' && isDocumentUnit(type))
    problems.push(thresholdProblem(decimalText(most), type, `${prefix}threshold`));
  if (readField(cycle, 'unit') === 'day' && typeof value === 'number' && value > maxCycleValue.day)
    problems.push({
      field: `${prefix}cycleDuration.value`,
      expected: `at most ${maxCycleValue.day} when the unit is day`,
      value: quote(value),
    });
  return problems.filter((problem) => problem !== undefined);
}
