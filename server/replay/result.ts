import type { RecordId } from '../../core/ledger/record.js';
import type { AddressKey } from '../../core/units/address.js';
import type { EpochMs } from '../../core/units/time.js';
import type { Missing } from './recorded-ports.js';

/** Why a recorded operation was not decided again. */
export type NotReplayed =
  'TOO_LONG' | 'UNKNOWN_FORM' | 'PAYMASTER_GONE' | 'CHAIN_GONE' | `${Uppercase<Missing>}_NOT_RECORDED`;

export type Decided = {
  readonly verdict: 'sponsored' | 'refused';
  readonly reason?: string;
  readonly detail?: string;
  readonly policyId?: string;
};

/** An operation whose verdict is another one. */
export type Example = {
  readonly decision: RecordId;
  readonly at: EpochMs;
  readonly paymasterId: string;
  readonly sender: AddressKey;
  readonly recorded: Decided;
  readonly replayed: Decided;
};

/** Of operations whose verdict changed in one direction. */
export type Changed = {
  readonly count: number;
  /** The most that they can cost, in wei; 0 for those of which it was not recorded. */
  readonly maxCostWei: bigint;
  /** What those that were mined have cost, in wei. */
  readonly spentWei: bigint;
  /** Reasons for which they are refused: now, or of the newly sponsored, before. The most frequent first. */
  readonly byReason: readonly { readonly reason: string; readonly count: number }[];
  /** The most frequent ones. */
  readonly bySender: readonly { readonly sender: AddressKey; readonly count: number }[];
  /** The first ones. */
  readonly examples: readonly Example[];
};

export type WouldRefuse = { readonly policyId: string; readonly reason: string; readonly count: number };

export type ReplayResult = {
  readonly replayed: number;
  readonly unchanged: {
    readonly sponsored: number;
    readonly refused: number;
    /** Of the refused: for another reason than recorded. */
    readonly otherReason: number;
  };
  readonly newlyRefused: Changed;
  readonly newlySponsored: Changed;
  /** What policies in Shadow would refuse; nothing of it is refused above. The most frequent first. */
  readonly wouldRefuse: readonly WouldRefuse[];
  readonly notReplayed: readonly { readonly why: NotReplayed; readonly count: number }[];
  /** Recorded answers of webhooks that were used; no webhook was called. */
  readonly webhookAnswers: number;
  /** Refused by a bound that others share; the recorded answer counts. */
  readonly asRecorded: number;
  /** Recorded under another generation of the configuration than the present one. */
  readonly otherConfiguration: number;
  /**
   * Decisions of the range of which no inputs are kept, so that they were not decided again: they were dropped or not
   * recorded, or are refusals beyond the rate that is recorded. Commits of two phases are not counted here.
   */
  readonly missingInputs: number;
  /** False: so much was promised before the range that not all of it was counted. */
  readonly isPastComplete: boolean;
};

/** What the records tell, without what was left out of them. */
export type Findings = Omit<ReplayResult, 'missingInputs' | 'isPastComplete'> & {
  /** Decisions with inputs, whether or not they were decided again. Commits that passed are not counted. */
  readonly recorded: number;
};
