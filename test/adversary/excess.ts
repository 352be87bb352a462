import { BrokenRule } from './broken-rule.js';

/** A sum that a rule bounds. */
export type Bounded = { readonly name: string; readonly sum: bigint; readonly most: bigint };

/**
 * What is above its bound although nobody did wrong: a reorganisation deeper than the confirmations has brought it back, or a leaked
 * key has spent it. It may grow until the service can know; from then on it may only shrink.
 */
export class Excess {
  readonly #above = new Map<number, ReadonlyMap<string, bigint>>();
  /** Whether something has happened that the service cannot know of yet. */
  mayGrow = false;

  /** All sums that a rule bounds now. Throws {@link BrokenRule} where one is above its bound and no excess explains it. */
  check(rule: number, sums: readonly Bounded[]): void {
    const before = this.#above.get(rule);
    const above = new Map<string, bigint>();
    for (const { name, sum, most } of sums) {
      if (sum <= most) continue;
      if (!this.mayGrow && sum - most > (before?.get(name) ?? 0n))
        throw new BrokenRule(rule, `${name} of ${most} may reach ${sum}`);
      above.set(name, sum - most);
    }
    this.#above.set(rule, above);
  }
}
