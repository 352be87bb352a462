import type { Account, Entry } from './usage-books.js';
import type { Counter } from './usage-counters.js';

/** What a reservation holds of a counter; 0 for none. */
export function heldCost(entry: Entry | undefined, counter: Counter): number {
  if (entry === undefined) return 0;
  const index = entry.counters.indexOf(counter);
  return index < 0 ? 0 : entry.costs[index]!;
}

/** What a reservation needs of an account; 0 for none. */
export function heldNeed(entry: Entry | undefined, account: Account): number {
  if (entry === undefined) return 0;
  const index = entry.accounts.indexOf(account);
  return index < 0 ? 0 : entry.needs[index]!;
}

/**
 * The reservation that stands after its operation was promised again: it keeps what it holds, raised to the larger
 * amounts, since the earlier signature stays valid.
 */
export function raised(former: Entry, asked: Entry): Entry {
  const [counters, costs] = union(former.counters, former.costs, asked.counters, asked.costs);
  const [accounts, needs] = union(former.accounts, former.needs, asked.accounts, asked.needs);
  const validUntil = former.validUntil > asked.validUntil ? former.validUntil : asked.validUntil;
  return { ...asked, counters, costs, accounts, needs, validUntil, userOpHash: former.userOpHash };
}

function union<T>(
  held: readonly T[],
  heldAmounts: readonly number[],
  asked: readonly T[],
  askedAmounts: readonly number[],
): [T[], number[]] {
  const amounts = new Map<T, number>();
  for (let i = 0; i < held.length; i++) amounts.set(held[i]!, heldAmounts[i]!);
  for (let i = 0; i < asked.length; i++)
    amounts.set(asked[i]!, Math.max(amounts.get(asked[i]!) ?? 0, askedAmounts[i]!));
  return [[...amounts.keys()], [...amounts.values()]];
}
