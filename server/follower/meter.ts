import type { Head } from '../../core/chain/heads.js';
import type { AccountBalance } from '../../core/usage/reserve-request.js';
import type { UsageStore } from '../../core/usage/usage-store.js';
import type { Clock, EpochMs } from '../../core/units/time.js';
import type { Instruments } from '../ops/instruments.js';
import { createPaymasterLabels } from '../ops/paymaster-labels.js';
import type { Round } from './round.js';

/** Accounts in use are read every minute, so an account whose balance is older than this is not in use. */
export const inUseMs = 300_000;

/** Metrics of the follower's work. Deposits are shown as lowest value and sum per chain, never by address. */
export function createFollowerMeter(
  instruments: Instruments,
  usage: Pick<UsageStore, 'accounts' | 'liveCount'>,
  clock: Clock,
) {
  /** When settlement had last caught up with the nodes, by chain. */
  const caughtUp = new Map<number, EpochMs>();
  const observe = (chainId: number, head: Head | undefined, keepsUp: boolean): void => {
    const chain = String(chainId);
    const now = clock.now();
    const since = keepsUp ? now : (caughtUp.get(chainId) ?? now);
    caughtUp.set(chainId, since);
    instruments.followerLag.with({ chain }).set((now - since) / 1000);
    instruments.followerFailures.with({ chain });
    if (head !== undefined) instruments.headAge.with({ chain }).set(Math.max(0, now / 1000 - head.timestamp));
  };
  const spentBy = createPaymasterLabels((paymaster) => instruments.paymasterSpent.with({ paymaster }));
  return {
    /** Commits that ended without a finalize. */
    unfinished: (chainId: number, commits: number): void =>
      instruments.settlements.with({ chain: String(chainId), outcome: 'unfinished' }).inc(commits),
    /** For a chain that another replica follows: this replica has read its head. `keepsUp`: the other one settles what there is. */
    observed: (chainId: number, head: Head | undefined, keepsUp: boolean): void =>
      observe(chainId, head, keepsUp),
    /** The settled block has not moved for this long, although the chain has. */
    stalled: (chainId: number, forMs: number): void =>
      instruments.followerStalled.with({ chain: String(chainId) }).set(forMs / 1000),
    async round(chainId: number, round: Round, head: Head | undefined): Promise<void> {
      const { cursor, settled, released, forfeited, unpaid, unattributed, restored, waitsAt, isComplete } =
        round;
      const { passedOver, unread } = round;
      const chain = String(chainId);
      observe(chainId, head, isComplete && waitsAt === undefined);
      instruments.settlements.with({ chain, outcome: 'settled' }).inc(settled);
      instruments.settlements.with({ chain, outcome: 'released' }).inc(released);
      instruments.settlements.with({ chain, outcome: 'forfeited' }).inc(forfeited);
      for (const [paymasterId, gwei] of round.spent) spentBy(paymasterId).inc(gwei);
      instruments.unattributedOperations.with({ chain }).inc(unattributed);
      instruments.passedOver.with({ chain }).inc(passedOver);
      if (unread !== undefined) instruments.unreadOperations.with({ chain }).set(unread);
      instruments.restoredReservations.with({ chain }).inc(restored);
      instruments.unpaidOperations.with({ chain }).inc(unpaid);
      for (const [contract, gwei] of round.lost) instruments.tokenLosses.with({ chain, contract }).inc(gwei);
      instruments.reservations.with({ chain }).set(await usage.liveCount(chainId));
      if (cursor !== undefined) instruments.followerBlock.with({ chain }).set(cursor.blockNumber);
      // Wallets that nobody uses are not read, so they are not shown.
      const inUse = clock.now() - inUseMs;
      const accounts = (await usage.accounts(chainId)).filter(({ readAt }) => (readAt ?? 0) > inUse);
      const own = accounts.filter(({ fundingAddress }) => fundingAddress === undefined);
      const funding = accounts.filter(({ fundingAddress }) => fundingAddress !== undefined);
      for (const [account, group] of [
        ['entry_point', own],
        ['funding', funding],
      ] as const) {
        const balances = group.flatMap(({ balance }) => (balance === undefined ? [] : [balance]));
        if (balances.length === 0) continue;
        instruments.lowestDeposit
          .with({ chain, account })
          .set(balances.reduce((least, balance) => Math.min(least, balance), Infinity));
        instruments.totalDeposit.with({ chain, account }).set(sum(balances));
        instruments.reservedDeposit.with({ chain, account }).set(sum(group.map(readReserved)));
      }
    },
    failure(chainId: number, head: Head | undefined): void {
      observe(chainId, head, false);
      instruments.followerFailures.with({ chain: String(chainId) }).inc();
    },
  };
}

function readReserved({ reserved }: AccountBalance): number {
  return reserved;
}

function sum(amounts: readonly number[]): number {
  return amounts.reduce((total, amount) => total + amount, 0);
}
