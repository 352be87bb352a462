import type { Problem } from '../../errors.js';
import type { ThresholdType } from './spec.js';

const maxWholeDigits = 15;
const maxDecimals = 18;

/** What is wrong with a threshold of this type, given as exact plain decimal text; undefined when nothing is wrong. */
export function thresholdProblem(text: string, type: ThresholdType, field: string): Problem | undefined {
  const [whole = '', fraction = ''] = text.split('.');
  const expected = expectation[type];
  if (text.startsWith('-') || whole.length > maxWholeDigits) return { field, expected, value: text };
  if (fraction.length > (type === 'COUNT' ? 0 : maxDecimals)) return { field, expected, value: text };
  return undefined;
}

const expectation = {
  COUNT: `a whole number of user operations, of at most ${maxWholeDigits} digits`,
  NATIVE_ASSET: `an amount of the native token of at most ${maxDecimals} decimals and ${maxWholeDigits} digits before them`,
} as const satisfies Record<ThresholdType, string>;
