import type { AddressKey } from '../../core/units/address.js';
import type { ModelChain } from './chain/model-chain.js';
import type { BundledOperation } from './chain/operations.js';
import { BrokenRule } from './broken-rule.js';

type Forgery = {
  readonly operation: BundledOperation;
  /** False where promises for the same operation are known: the follower may take it for one of them. */
  readonly mustBeNoticed: boolean;
};

/**
 * Operations that an attacker has signed with the key of one of our contracts. The rule: one that nobody has promised stops its
 * contract as soon as it is settled, and nothing is signed for it until a person resumes it.
 */
export class Forgeries {
  readonly #chain: ModelChain;
  #all: readonly Forgery[] = [];
  /** Height up to which the follower has settled. */
  #settled = 0;
  /** Contracts that were stopped and have not been resumed since. */
  readonly stopped = new Set<AddressKey>();

  constructor(chain: ModelChain) {
    this.#chain = chain;
  }

  add(forgery: Forgery): void {
    this.#all = [...this.#all, forgery];
  }

  /** Whether the follower still has to settle one of them. */
  hasUnsettled(): boolean {
    return this.#above(this.#settled).length > 0;
  }

  /** A node hides logs: the follower may never notice operations that it has not settled yet. */
  mayBeHidden(): void {
    const above = new Set(this.#above(this.#settled).map(({ forgery }) => forgery));
    this.#all = this.#all.map((one) => (above.has(one) ? { ...one, mustBeNoticed: false } : one));
  }

  /** A backup was restored from when the follower had settled this height. `stopped` contracts are forgotten with the rest. */
  goBack(height: number): void {
    this.#settled = height;
    this.stopped.clear();
  }

  /**
   * The follower has now settled up to this height. Answers how many forgeries it has seen; contracts of those that it must notice
   * are stopped. A contract that no profile names any longer signs nothing anyway, and is not followed.
   */
  settle(height: number, isOffered: (contract: AddressKey) => boolean): number {
    const seen = this.#above(this.#settled).filter((one) => one.height <= height);
    this.#settled = height;
    for (const { forgery } of seen) {
      const { contract } = forgery.operation;
      if (forgery.mustBeNoticed && isOffered(contract)) this.stopped.add(contract);
    }
    return seen.length;
  }

  /** Throws {@link BrokenRule} unless every contract that must be stopped is. */
  check(isSuspended: (contract: AddressKey) => boolean): void {
    for (const contract of this.stopped)
      if (!isSuspended(contract))
        throw new BrokenRule(6, `${contract} goes on although somebody else signs with its key`);
  }

  /** Throws {@link BrokenRule} for a signature for a contract that was stopped. */
  checkSigned(contract: AddressKey): void {
    if (this.stopped.has(contract)) throw new BrokenRule(6, `${contract} was stopped and signs`);
  }

  #above(settled: number): readonly { readonly forgery: Forgery; readonly height: number }[] {
    if (this.#all.length === 0) return [];
    const heights = new Map(
      this.#chain.operationsAfter(settled).map(({ height, result }) => [result.operation, height] as const),
    );
    return this.#all.flatMap((forgery) => {
      const height = heights.get(forgery.operation);
      return height === undefined ? [] : [{ forgery, height }];
    });
  }
}
