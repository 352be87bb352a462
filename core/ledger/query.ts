import type { AddressKey } from '../units/address.js';
import type { Hex } from '../units/hex.js';
import type { EpochMs } from '../units/time.js';
import type { Wei } from '../units/wei.js';
import type { Decision, MinedFacts, RecordId, Settlement } from './record.js';

export const usageSteps = ['minute', 'hour', 'day', 'month'] as const;
export type UsageStep = (typeof usageSteps)[number];

/**
 * What usage can be grouped by. `additive` is false where an operation counts in full for several values, so that the
 * rows do not add up to the total.
 */
export const usageGroups = {
  paymaster: { additive: true },
  policy: { additive: false },
  wouldRefuse: { additive: false },
  campaign: { additive: false },
  key: { additive: true },
  contract: { additive: false },
  method: { additive: false },
  sender: { additive: true },
  reason: { additive: true },
  mode: { additive: true },
  chain: { additive: true },
} as const;
export type UsageGroup = keyof typeof usageGroups;

export type UsageQuery = {
  readonly organisation: string;
  /** Undefined: all of the organisation. */
  readonly paymasterId: string | undefined;
  /**
   * Whole minutes: `from` rounded down, `to` rounded up by the caller. Grouped by `sender`: whole days (UTC), because
   * senders are counted per day.
   */
  readonly from: EpochMs;
  readonly to: EpochMs;
  /** Not `hour` when grouped by `sender`. */
  readonly step: UsageStep;
  /** Undefined: one row per step. */
  readonly groupBy: UsageGroup | undefined;
  /** At most this many rows; one more is answered if there are more. */
  readonly limit: number;
};

/** Ordered by `from`, then by `group`. Steps are UTC; the first and the last are cut to the range. */
export type UsageRow = {
  readonly from: EpochMs;
  readonly to: EpochMs;
  /** Value of the group; `(none)` where an operation has none, `other` for values that the configuration does not know. */
  readonly group: string | undefined;
  /** Requests that were answered with signed data. */
  readonly asks: number;
  /** Operations that were promised: one account and nonce counts once, however often it was asked for. */
  readonly sponsored: number;
  readonly refused: number;
  /** Mined, `reverted` included. */
  readonly mined: number;
  readonly reverted: number;
  /** Promises that were not used: expired or spent elsewhere. */
  readonly expired: number;
  readonly promisedWei: bigint;
  readonly spentWei: bigint;
  readonly tokens: readonly {
    readonly address: AddressKey;
    readonly decimals: number | undefined;
    readonly amount: bigint;
  }[];
};

export type DecisionQuery = {
  readonly organisation: string;
  readonly paymasterId?: string;
  readonly sender?: AddressKey;
  readonly verdict?: Decision['verdict'];
  readonly reason?: string;
  readonly userOpHash?: Hex;
  /** Ours or the caller's. */
  readonly requestId?: string;
  /** Name of the key that asked. */
  readonly key?: string;
  /** Of a method that the operation calls. */
  readonly selector?: Hex;
  /** Of the most that the operation can cost; what has no cost is left out. */
  readonly minCostWei?: Wei;
  readonly from: EpochMs;
  readonly to: EpochMs;
  /** Answers decisions older than this one; undefined: from the newest. */
  readonly before?: RecordId;
  readonly limit: number;
};

/**
 * The newest first. `next`: the value of `before` for the next page; undefined on the last page. A page may have fewer decisions than
 * the limit, or none, when a search took long.
 */
export type DecisionPage = {
  readonly decisions: readonly DecisionView[];
  readonly next: RecordId | undefined;
};

/** A decision, and the settlement that stands. */
export type DecisionView = { readonly decision: Decision; readonly settlement: SettlementView | undefined };

export type SettlementView = {
  readonly outcome: Settlement['outcome'];
  readonly at: EpochMs;
  /** Of a mined operation. */
  readonly mined: MinedFacts | undefined;
  /** Settlements before it that a reorganisation took back. */
  readonly takenBack: number;
};

export type FundsQuery = {
  readonly accounts: readonly AccountName[];
  readonly from: EpochMs;
  readonly to: EpochMs;
  /** False: without the samples, of which there is one a minute. Default true. */
  readonly samples?: boolean;
};
export type AccountName = {
  readonly chainId: number;
  readonly contract: AddressKey;
  readonly fundingAddress: AddressKey | undefined;
};

export function formatAccount({ chainId, contract, fundingAddress }: AccountName): string {
  return `${chainId} ${contract} ${fundingAddress ?? ''}`;
}

/** Samples of one account, the oldest first; none where the query does not ask for them. */
export type FundsHistory = {
  readonly account: AccountName;
  readonly samples: readonly {
    readonly at: EpochMs;
    readonly balanceWei: bigint;
    readonly promisedWei: bigint;
    /** See FundsSample. */
    readonly usdPerNative: bigint | undefined;
  }[];
  /** Cost of mined operations that this account paid in the range, in wei. */
  readonly spentWei: bigint;
};
