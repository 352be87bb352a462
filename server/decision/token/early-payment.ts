import type { Verdict } from '../../../core/refusal.js';
import type { TokenDraft } from './token-draft.js';

/**
 * Payments that are simulated while the limits of their operation are still being confirmed, one for each draft that may
 * be the final one, which saves a round trip.
 */
export type EarlyPayments = {
  /** Undefined when the payment of this draft still has to be simulated. Rejects as its simulation did. */
  verdictOn(draft: TokenDraft): Promise<Verdict | undefined>;
};

export function beginPayments(
  drafting: readonly Promise<TokenDraft>[],
  simulate: (draft: TokenDraft) => Promise<Verdict>,
): EarlyPayments {
  const beginning = begin(drafting, simulate);
  return {
    async verdictOn(draft) {
      const begun = await beginning;
      return begun.find((early) => isSame(early.draft, draft))?.verdict;
    },
  };
}

type Begun = { readonly draft: TokenDraft; readonly verdict: Promise<Verdict> };

/** Never rejects: an operation without a draft, or one that is refused, is not simulated. */
async function begin(
  drafting: readonly Promise<TokenDraft>[],
  simulate: (draft: TokenDraft) => Promise<Verdict>,
): Promise<readonly Begun[]> {
  const begun: Begun[] = [];
  for (const drafted of await Promise.allSettled(drafting)) {
    if (drafted.status === 'rejected' || !drafted.value.verdict.pass) continue;
    const draft = drafted.value;
    if (begun.some((other) => isSame(other.draft, draft))) continue;
    const verdict = simulate(draft);
    // Perhaps nobody asks for it.
    verdict.catch(() => {});
    begun.push({ draft, verdict });
  }
  return begun;
}

/** Everything else follows from facts and prices of the request. The simulation says anew how long it is valid. */
function isSame(a: TokenDraft, b: TokenDraft): boolean {
  return (
    a.op.callGasLimit === b.op.callGasLimit &&
    a.op.verificationGasLimit === b.op.verificationGasLimit &&
    a.op.preVerificationGas === b.op.preVerificationGas &&
    a.terms.inAdvance === b.terms.inAdvance
  );
}
