import type { TokenTerms } from '../../../core/paymaster/layout.js';
import type { FeeTokenSpec } from '../../../core/pricing/fee-token-spec.js';
import type { Hex } from '../../../core/units/hex.js';
import type { EpochSeconds } from '../../../core/units/time.js';
import { tokenTermsOf, type TokenFacts } from './token-terms.js';

export type Redraft = {
  readonly token: FeeTokenSpec;
  /** What the commit answered. */
  readonly committed: Hex;
  readonly now: EpochSeconds;
};

/**
 * The terms of data that a commit has answered, for its finalize. Rate, window and whether the tokens are taken in validation
 * are those that the account has signed. Contract, token and premium are those of now, so other data are not the committed
 * ones. Undefined where something has changed since: the contract no longer takes tokens in validation, or only payments that
 * are taken there are still signed, or a policy's window ends earlier. Throws RangeError for bytes that the codec did not make.
 */
export function redraftTerms(facts: TokenFacts, { token, committed, now }: Redraft): TokenTerms | undefined {
  const { codec, isSecured, requiresAllowance } = facts.mode;
  const { exchangeRate, validUntil, validAfter, inAdvance } = codec.decode(committed);
  if (inAdvance === true ? !isSecured : requiresAllowance) return undefined;
  if (validUntil > facts.lastSecond) return undefined;
  const plain = tokenTermsOf(facts, token, { rate: exchangeRate }, now);
  return { ...plain, validUntil, validAfter, ...(inAdvance === undefined ? {} : { inAdvance }) };
}
