import type { Refusal } from '../refusal.js';

/** What policies in Shadow would have refused of one request. Nothing of it refuses. */
export class Shadow {
  readonly #found: Refusal[] = [];
  #heard: ((refusal: Refusal) => void) | undefined;

  /** Each policy counts once, although steps may judge twice. */
  note(refusal: Refusal): void {
    if (this.#found.some(({ policyId }) => policyId === refusal.policyId)) return;
    this.#found.push(refusal);
    this.#heard?.(refusal);
  }

  get found(): readonly Refusal[] {
    return this.#found;
  }

  /** Calls back for each refusal, also for later ones: a webhook may answer after the request. */
  onFound(heard: (refusal: Refusal) => void): void {
    this.#found.forEach((refusal) => heard(refusal));
    this.#heard = heard;
  }
}

/** Stands for the policy where the list of contracts would have refused. */
export const contractsInShadow = 'contracts';
