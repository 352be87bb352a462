import type { EpochMs } from '../units/time.js';
import type { CoveredBlocks, Movement, MovementKind } from './movement.js';
import { addDollars, dollarsAt, noDollars, type Dollars, type Prices } from './prices.js';
import type { AccountName } from './query.js';
import type { Range } from './steps.js';

export type StatementQuery = Range & {
  readonly accounts: readonly AccountName[];
  /** Also of accounts that paid for this organisation, or one paymaster of it, in the range. Absent: of none. */
  readonly paidFor?: { readonly organisation: string; readonly paymasterId?: string };
  /** At most so many accounts; one more is answered if there are more. */
  readonly limit?: number;
};

/** What is recorded of an account in a month. */
export type AccountMovements = {
  readonly account: AccountName;
  /** Balance after the last block before the month; undefined: not recorded. */
  readonly opening: BalanceAt | undefined;
  /** The first balance that was recorded within the month, unless there is an opening one. What came before it is not in `sums`. */
  readonly first: BalanceAt | undefined;
  readonly closing: BalanceAt | undefined;
  /** By kind, paymaster and hour. */
  readonly sums: readonly MovementSum[];
  /** Deposits and withdrawals, the oldest first; at most {@link maxTransfers}. */
  readonly transfers: readonly Transfer[];
  /** Of the contract, in the order of blocks. */
  readonly covered: readonly Pick<CoveredBlocks, 'fromBlock' | 'toBlock'>[];
};

export type BalanceAt = {
  readonly blockNumber: number;
  readonly at: EpochMs;
  readonly balanceWei: bigint;
};

export type MovementSum = Pick<Movement, 'organisation' | 'paymasterId' | 'count'> & {
  readonly kind: Exclude<MovementKind, 'edge' | 'seen'>;
  readonly hour: EpochMs;
  readonly wei: bigint;
  /** Movements whose amount no node could show. */
  readonly unread: number;
};

export type Transfer = Pick<Movement, 'at' | 'blockNumber' | 'transactionHash' | 'amountWei' | 'count'> & {
  readonly kind: 'deposit' | 'withdrawal';
};

export const maxTransfers = 1_000;

/** An amount, and what it was worth when it moved. */
export type Worth = { readonly wei: bigint; readonly dollars: Dollars; readonly count: number };

/** What an account held, and why it changed: `closing = opening + deposits − withdrawals − mined − losses − burnt + others`. */
export type AccountStatement = Readonly<ReturnType<typeof createStatement>>;

type PaymasterShare = { readonly mined: Worth; readonly losses: Worth };

export const missingBalances = {
  MONTH_NOT_OVER: 'the month is not over, or its last blocks are not settled yet',
  BEGAN_WITHIN: 'the account is followed since this block, which is within the month',
  NOT_RECORDED:
    'no balance was recorded then: the account was not followed, or no node had that block any longer',
} as const;
type MissingBalance = keyof typeof missingBalances;

/** `isOwn`: whether the statement may name the paymaster. `now`: of the chain's settled blocks, or of the clock. */
export function createStatement(
  facts: AccountMovements,
  {
    to,
    now,
    prices,
    isOwn,
  }: {
    readonly to: EpochMs;
    readonly now: EpochMs;
    readonly prices: Prices;
    readonly isOwn: (sum: Pick<MovementSum, 'organisation' | 'paymasterId'>) => boolean;
  },
) {
  const { account, sums, closing, transfers } = facts;
  const opening = facts.opening ?? facts.first;
  const sumWorth = (
    kinds: readonly MovementSum['kind'][],
    isMeant: (sum: MovementSum) => boolean = () => true,
  ) =>
    sums
      .filter((sum) => kinds.includes(sum.kind) && isMeant(sum))
      .reduce<Worth>(
        (total, { wei, hour, count }) => ({
          wei: total.wei + wei,
          dollars: addDollars(total.dollars, dollarsAt(wei, hour, prices(account.chainId, hour))),
          count: total.count + count,
        }),
        { wei: 0n, dollars: noDollars, count: 0 },
      );
  const sumShare = (isMeant: (sum: MovementSum) => boolean): PaymasterShare => ({
    mined: sumWorth(['mined'], isMeant),
    losses: sumWorth(['loss'], isMeant),
  });
  const byPaymaster = sums.filter(({ kind }) => kind === 'mined' || kind === 'loss');
  const ids = [...new Set(byPaymaster.filter(isOwn).map(({ paymasterId }) => paymasterId))].toSorted();
  const deposits = sumWorth(['deposit']);
  const withdrawals = sumWorth(['withdrawal']);
  const all = { mined: sumWorth(['mined']), losses: sumWorth(['loss']), burnt: sumWorth(['burnt']) };
  const expected =
    opening &&
    opening.balanceWei + deposits.wei - withdrawals.wei - all.mined.wei - all.losses.wei - all.burnt.wei;
  const openingReason: MissingBalance | undefined =
    facts.opening !== undefined ? undefined : opening === undefined ? 'NOT_RECORDED' : 'BEGAN_WITHIN';
  const closingReason: MissingBalance | undefined =
    closing !== undefined ? undefined : now < to ? 'MONTH_NOT_OVER' : 'NOT_RECORDED';
  return {
    account,
    opening,
    closing,
    /** Why a balance, and with it `others`, is not known. */
    openingReason,
    closingReason,
    deposits,
    withdrawals,
    burnt: all.burnt,
    /** Of own paymasters, and of all others together. */
    paymasters: ids.map((paymasterId) => ({
      paymasterId,
      ...sumShare((sum) => sum.paymasterId === paymasterId && isOwn(sum)),
    })),
    otherPaymasters: sumShare((sum) => !isOwn(sum)),
    /** What nothing explains. */
    others: closing && expected !== undefined ? closing.balanceWei - expected : undefined,
    /** Deposits whose amount no node could show: it is in `others`. */
    unreadDeposits: sums.reduce((count, { unread }) => count + unread, 0),
    /** Blocks between both balances whose events were not read: what they changed is in `others`. */
    unreadBlocks:
      opening && closing ? holesIn(facts.covered, opening.blockNumber + 1, closing.blockNumber) : [],
    transfers,
  };
}

/** Blocks of `from`…`to` that none of the ranges has. */
function holesIn(
  covered: AccountMovements['covered'],
  from: number,
  to: number,
): AccountMovements['covered'] {
  const holes: { readonly fromBlock: number; readonly toBlock: number }[] = [];
  let next = from;
  for (const { fromBlock, toBlock } of covered.toSorted((a, b) => a.fromBlock - b.fromBlock)) {
    if (toBlock < next || fromBlock > to) continue;
    if (fromBlock > next) holes.push({ fromBlock: next, toBlock: fromBlock - 1 });
    next = Math.max(next, toBlock + 1);
  }
  return next > to ? holes : [...holes, { fromBlock: next, toBlock: to }];
}
