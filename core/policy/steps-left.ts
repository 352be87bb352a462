/**
 * The work that all expressions may take for one request, their explanations included: else five of them would hold the thread five
 * times as long. A part that is evaluated is a step, and so are 16 bytes of a byte string. Any expression fits ten calls, and one of
 * five comparisons fits the most calls.
 */
export const maxSteps = 4_096;

/** Steps that are left. Evaluating takes from it. */
export type StepsLeft = { steps: number };

export function allSteps(): StepsLeft {
  return { steps: maxSteps };
}

/** What expressions may still take of a request. Those in Shadow have their own, because they must not make others refuse. */
export type WorkLeft = { readonly enforced: StepsLeft; readonly shadow: StepsLeft };

export function allWork(): WorkLeft {
  return { enforced: allSteps(), shadow: allSteps() };
}
