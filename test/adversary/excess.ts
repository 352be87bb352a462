import { BrokenRule } from './broken-rule.js';

/** A sum that a rule bounds. */
export type Bounded = { readonly name: string; readonly sum: bigint; readonly most: bigint };

type Above = ReadonlyMap<string, bigint>;

/**
 * What is above its bound although nobody did wrong: a reorganisation deeper than the confirmations has brought it back, or a leaked
 * key has spent it. It may grow until the service can know; from then on it may only shrink, but for what a reorganisation brings
 * back that was above the bound before.
 */
export class Excess {
  #above: Above = new Map();
  /** What was above when, as long as anything is. */
  #past: readonly { readonly height: number; readonly above: Above }[] = [];
  /** Whether something has happened that the service cannot know of yet. */
  mayGrow = false;

  /** All sums that rules bound at a height. Throws {@link BrokenRule} where one is above its bound and no excess explains it. */
  check(rules: ReadonlyMap<number, readonly Bounded[]>, height: number): void {
    const above = new Map<string, bigint>();
    for (const [rule, sums] of rules)
      for (const { name, sum, most } of sums) {
        if (sum <= most) continue;
        const key = `${rule} ${name}`;
        if (!this.mayGrow && sum - most > (this.#above.get(key) ?? 0n))
          throw new BrokenRule(rule, `${name} of ${most} may reach ${sum}`);
        above.set(key, sum - most);
      }
    if (above.size > 0 || this.#above.size > 0) this.#past = [...this.#past, { height, above }];
    this.#above = above;
  }

  /** Blocks above this height are gone. */
  reorganised(height: number): void {
    const last = this.#past.findLastIndex((one) => one.height <= height);
    const above = new Map(this.#above);
    for (const past of this.#past.slice(Math.max(0, last)))
      for (const [key, amount] of past.above) if (amount > (above.get(key) ?? 0n)) above.set(key, amount);
    this.#above = above;
  }
}
