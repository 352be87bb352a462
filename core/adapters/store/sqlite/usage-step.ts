import type { FollowerStep } from '../../../policy/usage-store.js';
import type { Entry } from './usage-books.js';
import type { Counter } from './usage-counters.js';
import { balanceOp, cursorOp, dropOp } from './usage-image.js';
import type { Op } from './usage-ops.js';
import type { UsageState } from './usage-state.js';

/** What a step of the follower makes true. Names that it is the first to use become definitions of the state. */
export function stepOps(state: UsageState, step: FollowerStep): readonly Op[] {
  const ended = new Set<Entry>();
  const used = new Map<Counter, number>();
  for (const { key, actualCost } of step.settled) {
    const entry = state.find(key);
    if (entry === undefined || ended.has(entry)) continue;
    ended.add(entry);
    for (const [i, counter] of entry.counters.entries()) {
      const cost = counter.window.unit === 'COUNT' ? entry.costs[i]! : actualCost;
      used.set(counter, (used.get(counter) ?? counter.used) + cost);
    }
  }
  for (const { key, validUntil } of step.released) {
    const entry = state.find(key);
    if (entry !== undefined && entry.validUntil <= validUntil) ended.add(entry);
  }
  const balances = step.balances.map(({ contract, fundingAddress, balance, readAt }) => {
    const funding = fundingAddress === undefined ? undefined : state.addresses.of(fundingAddress);
    const account = { contract: state.addresses.of(contract), funding, balance, readAt, reserved: 0 };
    return balanceOp(step.chainId, account);
  });
  return [
    // Use before drops: a counter that nothing holds and nothing used is taken out of its window.
    ...Array.from(used, ([{ window, subject }, amount]): Op => ['c', window.id, subject, amount]),
    ...Array.from(ended, (entry) => dropOp(step.chainId, entry)),
    ...balances,
    cursorOp(step.chainId, step.next),
  ];
}
