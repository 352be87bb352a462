import type { Problem } from '../../errors.js';
import { parseDecimal } from '../../units/wei.js';
import type { UnitRow } from '../../usage/unit.js';
import { unitNames, unitOf, type Unit } from '../../usage/units.js';
import type { CelRule } from '../../schema/structural.js';

const longest = longestOf(unitNames.map((unit) => unitOf(unit).digits));

/** Amounts of one unit. */
export function amountIn(unit: Unit) {
  const { digits } = unitOf(unit);
  return {
    minLength: 1,
    maxLength: digits.whole + 1 + digits.fraction,
    pattern: patternOf(digits),
    expected: `decimal text in quotes: ${expectedOf(unit)}`,
  };
}

/** The longest threshold that any unit takes; {@link thresholdRules} bound the others. */
export const anyThreshold = {
  minLength: 1,
  maxLength: longest.whole + 1 + longest.fraction,
  pattern: patternOf(longest),
  expected: `decimal text in quotes such as "0.05": not negative, at most ${longest.whole} digits before and ${longest.fraction} after the point`,
};

export const thresholdRules: readonly CelRule[] = unitNames.flatMap((unit) => {
  const { digits, tooLong } = unitOf(unit);
  if (tooLong === undefined) return [];
  const fields = isAmount(unit) ? (['threshold', 'perOperation'] as const) : (['threshold'] as const);
  return fields.map((field) => ({
    rule: `self.thresholdType != '${unit}' || !has(self.${field}) || self.${field}.matches('${patternOf(digits)}')`,
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
  return unitOf(unit).decimals > 0;
}

/** What is wrong with a threshold of this unit, given as exact plain decimal text; undefined when nothing is wrong. */
export function thresholdProblem(text: string, unit: Unit, field: string): Problem | undefined {
  const [whole = '', fraction = ''] = text.split('.');
  const { digits } = unitOf(unit);
  const isTooLong = whole.length > digits.whole || fraction.length > digits.fraction;
  return text.startsWith('-') || isTooLong ? { field, expected: expectedOf(unit), value: text } : undefined;
}

/** Whether a threshold is plain decimal text with the digits that its unit takes. */
export function isThreshold(text: string, unit: Unit): boolean {
  try {
    parseDecimal(text, unitOf(unit).digits.fraction);
    return thresholdProblem(text, unit, '') === undefined;
  } catch {
    return false;
  }
}

/** What a threshold of the unit must be, for people. */
export function expectedOf(unit: Unit): string {
  const { threshold, digits } = unitOf(unit);
  if (digits.fraction === 0) return `${threshold}, of at most ${digits.whole} digits`;
  return `${threshold} of at most ${digits.fraction} decimals and ${digits.whole} digits before them`;
}

type Digits = UnitRow['digits'];

function patternOf({ whole, fraction }: Digits): string {
  const decimals = fraction === 0 ? '' : `([.][0-9]{1,${fraction}})?`;
  return `^(0|[1-9][0-9]{0,${whole - 1}})${decimals}$`;
}

function longestOf(all: readonly Digits[]): Digits {
  return {
    whole: Math.max(...all.map(({ whole }) => whole)),
    fraction: Math.max(...all.map(({ fraction }) => fraction)),
  };
}
