import type { Head } from '../../core/chain/heads.js';
import type { AccountBalance, UsageStore } from '../../core/usage/usage-store.js';
import type { Clock } from '../../core/units/time.js';
import type { FollowerDeps } from './follower.js';
import type { Round } from './round.js';

/** Accounts that are in use are read every minute. */
const inUseMs = 300_000;

export type FollowerMeter = {
  round(chainId: number, round: Round, head: Head | undefined): Promise<void>;
  /** A chain whose head was read, and that another replica follows. */
  observed(chainId: number, head: Head | undefined): void;
  failure(chainId: number): void;
};

/** Shows what the follower does; deposits as the lowest and the sum per chain, never by address. */
export function createFollowerMeter(
  instruments: FollowerDeps['instruments'],
  usage: Pick<UsageStore, 'accounts' | 'liveCount'>,
  clock: Clock,
): FollowerMeter {
  const observed: FollowerMeter['observed'] = (chainId, head) => {
    const chain = String(chainId);
    instruments.followerFailures.with({ chain });
    if (head !== undefined)
      instruments.followerLag.with({ chain }).set(Math.max(0, clock.now() / 1000 - head.timestamp));
  };
  return {
    observed,
    async round(chainId, round, head) {
      const { cursor, settled, released, forfeited, unpaid, unattributed, restored } = round;
      const chain = String(chainId);
      observed(chainId, head);
      instruments.settlements.with({ chain, outcome: 'settled' }).inc(settled);
      instruments.settlements.with({ chain, outcome: 'released' }).inc(released);
      instruments.settlements.with({ chain, outcome: 'forfeited' }).inc(forfeited);
      instruments.unattributedOperations.with({ chain }).inc(unattributed);
      instruments.restoredReservations.with({ chain }).inc(restored);
      instruments.unpaidOperations.with({ chain }).inc(unpaid);
      instruments.reservations.with({ chain }).set(await usage.liveCount(chainId));
      if (cursor !== undefined) instruments.followerBlock.with({ chain }).set(cursor.blockNumber);
      // Wallets that nobody uses are not read either.
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
        instruments.reservedDeposit.with({ chain, account }).set(sum(group.map(reservedOf)));
      }
    },
    failure: (chainId) => instruments.followerFailures.with({ chain: String(chainId) }).inc(),
  };
}

function reservedOf({ reserved }: AccountBalance): number {
  return reserved;
}

function sum(amounts: readonly number[]): number {
  return amounts.reduce((total, amount) => total + amount, 0);
}
