import { quote, type Problem } from '../../../core/errors.js';
import { text } from '../../../core/schema/structural.js';
import type { KeyName } from './provider.js';

/** How keys are named differs between providers: see {@link keyProblems}. */
export const keyField = text('The key of the provider.', { minLength: 1, maxLength: 512 });

export function keyProblems(key: string, { pattern, expected }: KeyName): readonly Problem[] {
  return pattern.test(key) ? [] : [{ field: 'key', expected, value: quote(key) }];
}
