import type { Refusal } from '../refusal.js';

/** What policies in Shadow would have refused of one request. Nothing of it refuses. */
export class Shadow {
  readonly #judged: Refusal[] = [];
  readonly #full: Refusal[] = [];
  #heard: ((refusal: Refusal) => void) | undefined;

  /** Each policy counts once, although steps may judge twice. */
  note(refusal: Refusal): void {
    this.#add(this.#judged, refusal);
  }

  /** Of a limit whose count is above its threshold; the step that reserves judges that once more. */
  noteFull(refusal: Refusal): void {
    this.#add(this.#full, refusal);
  }

  get found(): readonly Refusal[] {
    return [...this.#judged, ...this.#full.filter((refusal) => !has(this.#judged, refusal))];
  }

  /** Without those of {@link noteFull}. */
  get judged(): readonly Refusal[] {
    return this.#judged;
  }

  /** Calls back for each refusal, also for later ones: a webhook may answer after the request. */
  onFound(heard: (refusal: Refusal) => void): void {
    this.found.forEach((refusal) => heard(refusal));
    this.#heard = heard;
  }

  #add(list: Refusal[], refusal: Refusal): void {
    if (has(list, refusal)) return;
    const isKnown = has(this.found, refusal);
    list.push(refusal);
    if (!isKnown) this.#heard?.(refusal);
  }
}

function has(list: readonly Refusal[], { policyId }: Refusal): boolean {
  return list.some((other) => other.policyId === policyId);
}

/** Stands for the policy where the list of contracts would have refused. */
export const contractsInShadow = 'contracts';
