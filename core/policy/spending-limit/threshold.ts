import type { Problem } from '../../errors.js';
import { parseDecimal } from '../../units/wei.js';
import type { UnitRow } from '../../usage/unit.js';
import { unitNames, unitRow, type Unit } from '../../usage/units.js';
import type { CelRule } from '../../schema/structural.js';

const longest = maxDigits(unitNames.map((unit) => unitRow(unit).digits));

/** Amounts of one unit. */
export function amountIn(unit: Unit) {
  const { digits } = unitRow(unit);
  return {
    minLength: 1,
    maxLength: digits.whole + 1 + digits.fraction,
    pattern: digitsPattern(digits),
    expected: `decimal text in quotes: ${describeThreshold(unit)}`,
  };
}

/** The longest threshold that any unit takes; {@link thresholdRules} bound the others. */
export const anyThreshold = {
  minLength: 1,
  maxLength: longest.whole + 1 + longest.fraction,
  pattern: digitsPattern(longest),
  expected: `decimal text in quotes such as "0.05": not negative, at most ${longest.whole} digits before and ${longest.fraction} after the point`,
};

export const thresholdRules: readonly CelRule[] = unitNames.flatMap((unit) => {
  const { digits, tooLong } = unitRow(unit);
  if (tooLong === undefined) return [];
  const fields = isAmount(unit) ? (['threshold', 'perOperation'] as const) : (['threshold'] as const);
  return fields.map((field) => ({
    rule: `self.thresholdType != '${unit}' || !has(self.${field}) || self.${field}.matches('${digitsPattern(digits)}')`,
    message: `must be ${tooLong}`,
    fieldPath: `.${field}` as const,
  }));
});

export const perOperationRules: readonly CelRule[] = unitNames
  .filter((unit) => !isAmount(unit))
  .map((unit) => ({
    rule: `self.thresholdType != '${unit}' || !has(self.perOperation)`,
    message: `must be left out when thresholdType is ${unit}, in which every operation is one`,
    fieldPath: '.perOperation',
  }));

/** Whether operations take different amounts of the unit. */
export function isAmount(unit: Unit): boolean {
  return unitRow(unit).decimals > 0;
}

/** What is wrong with a threshold of this unit, given as exact plain decimal text; undefined when nothing is wrong. */
export function thresholdProblem(text: string, unit: Unit, field: string): Problem | undefined {
  const [whole = '', fraction = ''] = text.split('.');
  const { digits } = unitRow(unit);
  const isTooLong = whole.length > digits.whole || fraction.length > digits.fraction;
  return text.startsWith('-') || isTooLong
    ? { field, expected: describeThreshold(unit), value: text }
    : undefined;
}

/** Whether a threshold is plain decimal text with the digits that its unit takes. */
export function isThreshold(text: string, unit: Unit): boolean {
  try {
    parseDecimal(text, unitRow(unit).digits.fraction);
    return thresholdProblem(text, unit, '') === undefined;
  } catch {
    return false;
  }
}

/** What a threshold of the unit must be, for people. */
export function describeThreshold(unit: Unit): string {
  const { threshold, digits } = unitRow(unit);
  if (digits.fraction === 0) return `${threshold}, of at most ${digits.whole} digits`;
  return `${threshold} of at most ${digits.fraction} decimals and ${digits.whole} digits before them`;
}

type Digits = UnitRow['digits'];

function digitsPattern({ whole, fraction }: Digits): string {
  const decimals = fraction === 0 ? '' : `([.][0-9]{1,${fraction}})?`;
  return `^(0|[1-9][0-9]{0,${whole - 1}})${decimals}$`;
}

function maxDigits(all: readonly Digits[]): Digits {
  return {
    whole: Math.max(...all.map(({ whole }) => whole)),
    fraction: Math.max(...all.map(({ fraction }) => fraction)),
  };
}
