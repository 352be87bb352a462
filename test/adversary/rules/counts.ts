import type { PolicyShare } from '../../../core/policy/kind.js';
import type { Unit } from '../../../core/usage/units.js';
import type { UsageStore } from '../../../core/usage/usage-store.js';
import { BrokenRule } from '../broken-rule.js';
import type { Oracle, Rules, Take } from './oracle.js';

/** A counter of the store. */
type Counter = { readonly counter: string; readonly unit: Unit; readonly until: number };

/** Compares what the store has counted with what the oracle has. */
export class Counts {
  readonly #oracle: Oracle;
  readonly #chainId: number;
  readonly #counterOf = new Map<string, Counter>();
  readonly #countOf = new Map<string, string>();
  /** How far sums are above their limit, by what nobody refuses: edits, reorganisations, Shadow. */
  #above = new Map<string, bigint>();

  constructor(oracle: Oracle, chainId: number) {
    this.#oracle = oracle;
    this.#chainId = chainId;
  }

  /** What the service has asked of the store for an operation. Each count has one counter of its own. */
  learn(limits: readonly PolicyShare[], takes: readonly Take[], now: number): void {
    if (limits.length !== takes.length)
      throw new BrokenRule(
        1,
        `an operation takes of ${limits.length} limits instead of ${takes.map(({ id }) => id).join(', ')}`,
      );
    for (const [i, take] of takes.entries()) {
      const share = limits[i]!;
      const { counter, unit, window, threshold, cost, enforce, policy } = share;
      const planned = `${cost} of ${threshold} ${unit} of ${policy.policyId}, ${enforce ? 'enforced' : 'in Shadow'}`;
      const right = `${take.cost} of ${take.most} ${take.unit} of ${take.id}, ${take.isEnforced ? 'enforced' : 'in Shadow'}`;
      if (planned !== right)
        throw new BrokenRule(1, `an operation takes ${planned}, and by the rules ${right}`);
      if (now < window.from || now >= window.until)
        throw new BrokenRule(1, `the window of ${policy.policyId} is not that of now`);
      const name = `${unit} ${counter}`;
      const known = this.#counterOf.get(take.count);
      if (known !== undefined && known.counter !== counter)
        throw new BrokenRule(1, `"${take.count}" is counted in ${known.counter} and in ${counter}`);
      const other = this.#countOf.get(name) ?? take.count;
      if (other !== take.count) throw new BrokenRule(1, `${name} counts "${other}" and "${take.count}"`);
      this.#countOf.set(name, take.count);
      this.#counterOf.set(take.count, { counter, unit, until: window.until });
    }
  }

  /** Rule 1 for an operation that was just signed. */
  checkTake({ count, most, isEnforced, isLost }: Take): void {
    const sum = this.#oracle.used(count) + this.#oracle.reserved(count);
    if (isEnforced && isLost)
      throw new BrokenRule(1, `something was signed although the use of ${count} is unknown`);
    if (isEnforced && sum > most) throw new BrokenRule(1, `${count} of ${most} may reach ${sum}`);
  }

  /** Rule 1 at this moment. An excess grows by nothing that callers ask for. */
  checkSums(all: readonly Rules[], now: number, isByCallers: boolean): void {
    const above = new Map<string, bigint>();
    for (const rules of all)
      for (const sender of [0, 1, 2])
        for (const { count, most, isEnforced } of this.#oracle.standing(rules, sender, now)) {
          if (!isEnforced || above.has(count)) continue;
          const excess = this.#oracle.used(count) + this.#oracle.reserved(count) - most;
          if (excess <= 0n) continue;
          if (isByCallers && excess > (this.#above.get(count) ?? 0n))
            throw new BrokenRule(1, `${count} of ${most} is exceeded by ${excess}`);
          above.set(count, excess);
        }
    this.#above = above;
  }

  /** What the store has counted of windows that are not over. */
  async check(usage: Pick<UsageStore, 'counters' | 'now'>): Promise<void> {
    const now = usage.now();
    const open = [...this.#counterOf].filter(([, { until }]) => until > now);
    const states = await usage.counters(
      this.#chainId,
      open.map(([, { counter, unit }]) => ({ counter, unit })),
    );
    for (const [i, [count]] of open.entries()) {
      const { used, reserved } = states[i]!;
      const right = `${this.#oracle.used(count)} used and ${this.#oracle.reserved(count)} promised`;
      if (`${used} used and ${reserved} promised` !== right)
        throw new BrokenRule(
          1,
          `${count} counts ${used} used and ${reserved} promised, and by the rules ${right}`,
        );
    }
    if (open.length === this.#counterOf.size) return;
    for (const [count, { until, counter, unit }] of this.#counterOf) {
      if (until > now) continue;
      this.#counterOf.delete(count);
      this.#countOf.delete(`${unit} ${counter}`);
    }
  }

  forget(): void {
    this.#counterOf.clear();
    this.#countOf.clear();
    this.#above.clear();
  }
}
