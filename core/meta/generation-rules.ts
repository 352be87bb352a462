import type { CelRule } from '../schema/structural.js';

/** For a generation, which may be given once and from then on only rise; `former` is what a lower one would bring back. */
export function neverFalls(field: string, former: string): CelRule {
  return {
    rule: `!has(oldSelf.${field}) || (has(self.${field}) && self.${field} >= oldSelf.${field})`,
    message: `must be the same or higher than before: a lower one would bring ${former} back`,
    fieldPath: `.${field}`,
  };
}

/** For objects with a `keyGeneration` and a `previousKeyUntil`. */
export const hasPreviousKey: CelRule = {
  rule: '!has(self.previousKeyUntil) || (has(self.keyGeneration) && self.keyGeneration > 1)',
  message: 'must be left out until keyGeneration is at least 2: before that there is no previous key',
  fieldPath: '.previousKeyUntil',
};
