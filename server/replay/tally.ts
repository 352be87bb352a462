import type { AddressKey } from '../../core/units/address.js';
import type { Refusal } from '../../core/refusal.js';
import type { Changed, Decided, Example, Findings, NotReplayed, WouldRefuse } from './result.js';

const mostExamples = 20;
const mostShown = 20;
/** Callers choose senders: of more than these, only the number is known. */
const mostSenders = 100_000;

/** Counts what a replay finds. */
export class Tally {
  replayed = 0;
  webhookAnswers = 0;
  asRecorded = 0;
  otherConfiguration = 0;
  recorded = 0;
  readonly refused = new ChangedTally();
  readonly sponsored = new ChangedTally();
  #sameSponsored = 0;
  #sameRefused = 0;
  #otherReason = 0;
  readonly #wouldRefuse = new Map<string, WouldRefuse>();
  readonly #notReplayed = new Map<NotReplayed, number>();

  /** The verdict that changed; undefined: the same as recorded. */
  decided(example: Example, maxCostWei: bigint): Decided['verdict'] | undefined {
    const { recorded, replayed } = example;
    this.replayed += 1;
    if (recorded.verdict !== replayed.verdict) {
      if (replayed.verdict === 'refused') this.refused.add(example, replayed.reason, maxCostWei);
      else this.sponsored.add(example, recorded.reason, maxCostWei);
      return replayed.verdict;
    }
    if (replayed.verdict === 'sponsored') this.#sameSponsored += 1;
    else {
      this.#sameRefused += 1;
      if (recorded.reason !== replayed.reason) this.#otherReason += 1;
    }
    return undefined;
  }

  /** A policy in Shadow would refuse. */
  wouldRefuse({ policyId = '', reason }: Refusal): void {
    const key = `${policyId} ${reason}`;
    const before = this.#wouldRefuse.get(key)?.count ?? 0;
    this.#wouldRefuse.set(key, { policyId, reason, count: before + 1 });
  }

  leftOut(why: NotReplayed): void {
    count(this.#notReplayed, why);
  }

  result(): Findings {
    return {
      replayed: this.replayed,
      unchanged: {
        sponsored: this.#sameSponsored,
        refused: this.#sameRefused,
        otherReason: this.#otherReason,
      },
      newlyRefused: this.refused.result(),
      newlySponsored: this.sponsored.result(),
      wouldRefuse: [...this.#wouldRefuse.values()].sort((a, b) => b.count - a.count),
      notReplayed: byCount(this.#notReplayed).map(([why, found]) => ({ why, count: found })),
      webhookAnswers: this.webhookAnswers,
      asRecorded: this.asRecorded,
      otherConfiguration: this.otherConfiguration,
      recorded: this.recorded,
    };
  }
}

class ChangedTally {
  spentWei = 0n;
  #count = 0;
  #maxCostWei = 0n;
  readonly #reasons = new Map<string, number>();
  readonly #senders = new Map<AddressKey, number>();
  readonly #examples: Example[] = [];

  add(example: Example, reason: string | undefined, maxCostWei: bigint): void {
    this.#count += 1;
    this.#maxCostWei += maxCostWei;
    count(this.#reasons, reason ?? '(none)');
    if (this.#senders.size < mostSenders || this.#senders.has(example.sender))
      count(this.#senders, example.sender);
    if (this.#examples.length < mostExamples) this.#examples.push(example);
  }

  result(): Changed {
    return {
      count: this.#count,
      maxCostWei: this.#maxCostWei,
      spentWei: this.spentWei,
      byReason: byCount(this.#reasons).map(([reason, found]) => ({ reason, count: found })),
      bySender: byCount(this.#senders)
        .slice(0, mostShown)
        .map(([sender, found]) => ({ sender, count: found })),
      examples: this.#examples,
    };
  }
}

function count<K>(counts: Map<K, number>, key: K): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

function byCount<K>(counts: ReadonlyMap<K, number>): readonly (readonly [K, number])[] {
  return [...counts].sort(([, a], [, b]) => b - a);
}
