import type { Verdict } from '../../core/refusal.js';
import type { TokenDraft } from './token-draft.js';

/**
 * A payment that is simulated while the limits of its operation are still being confirmed, which saves a round trip:
 * they are seldom raised. If they are, the simulation is for nothing.
 */
export type EarlyPayment = {
  /** Undefined when the payment of this draft still has to be simulated. */
  verdictOn(draft: TokenDraft): Promise<Verdict | undefined>;
};

/** Never calls `drafting` before it has returned. */
export function beginPayment(
  drafting: () => Promise<TokenDraft>,
  simulate: (draft: TokenDraft) => Promise<Verdict>,
): EarlyPayment {
  const begun = unlessFailed(
    Promise.resolve()
      .then(drafting)
      .then((draft) => ({
        draft,
        // An operation that is refused is not simulated.
        verdict: draft.verdict.pass ? unlessFailed(simulate(draft)) : undefined,
      })),
  );
  return {
    async verdictOn(draft) {
      const early = await begun;
      return early !== undefined && isSame(early.draft, draft) ? early.verdict : undefined;
    },
  };
}

/** A failure says nothing about the payment: it is simulated again when its turn comes. */
function unlessFailed<T>(answer: Promise<T>): Promise<T | undefined> {
  return answer.catch(() => undefined);
}

/** Everything else follows from facts and prices of the request. The simulation replaces the window. */
function isSame(a: TokenDraft, b: TokenDraft): boolean {
  return (
    a.op.callGasLimit === b.op.callGasLimit &&
    a.op.verificationGasLimit === b.op.verificationGasLimit &&
    a.op.preVerificationGas === b.op.preVerificationGas &&
    a.terms.inAdvance === b.terms.inAdvance
  );
}
