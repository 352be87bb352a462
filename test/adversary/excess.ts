import { BrokenRule } from './broken-rule.js';

/** A sum that a rule bounds. */
export type Bounded = { readonly name: string; readonly sum: bigint; readonly most: bigint };

type Above = ReadonlyMap<string, bigint>;

/**
 * Sums that exceed their bound although no code is wrong: a reorganisation deeper than the confirmations has restored them, or a
 * leaked key has spent them. An excess may grow until the service can know of it. From then on it may only shrink, except when a
 * reorganisation restores a sum that exceeded its bound before.
 */
export class Excess {
  #above: Above = new Map();
  /** The excesses by time, kept while there is any. */
  #past: readonly { readonly height: number; readonly above: Above }[] = [];
  /** Whether something has happened that the service cannot know yet. */
  mayGrow = false;

  /** Takes all sums that rules bound at a height. Throws {@link BrokenRule} for a sum above its bound that no excess explains. */
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

  /** A reorganisation has removed the blocks above this height. */
  reorganised(height: number): void {
    const last = this.#past.findLastIndex((one) => one.height <= height);
    const above = new Map(this.#above);
    for (const past of this.#past.slice(Math.max(0, last)))
      for (const [key, amount] of past.above) if (amount > (above.get(key) ?? 0n)) above.set(key, amount);
    this.#above = above;
  }
}
