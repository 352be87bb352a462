import type { Gap, RecordId, Settlement } from './record.js';
import type { EpochMs } from '../units/time.js';
import type { AddressKey } from '../units/address.js';
import type { Hex } from '../units/hex.js';
import type { Mode } from '../usage/reservation.js';

/** What a what-if reads of the records of one paymaster, in the order of their ids. */
export type PastRecord = PastDecision | PastEnding;

export type PastDecision = {
  readonly id: RecordId;
  readonly verdict: 'sponsored' | 'refused' | 'committed';
  readonly reason: string | null;
  readonly mode: Mode | null;
  readonly reservation: RecordId | null;
  readonly entryPoint: AddressKey;
  readonly sender: AddressKey;
  readonly nonce: string;
  readonly factory: Hex | null;
  /** JSON of {@link DecidedCall}s. */
  readonly calls: string;
  readonly callsLeftOut: number | null;
  readonly campaign: string | null;
  /** Wei, as decimal text. */
  readonly maxCost: string | null;
  readonly usdPerNative: string | null;
};

/** A settlement, or with `outcome: null` its reversal. */
export type PastEnding = {
  readonly id: RecordId;
  readonly verdict: null;
  /** Null: of no promise that is recorded. */
  readonly reservation: RecordId | null;
  readonly outcome: Settlement['outcome'] | null;
  /** Wei, as decimal text; of a mined operation. */
  readonly cost: string | null;
};

export type PastQuery = {
  readonly organisation: string;
  readonly paymasterId: string;
  readonly from: EpochMs;
  readonly to: EpochMs;
  /** Answers records after this one; undefined: from the oldest. */
  readonly after: RecordId | undefined;
  readonly limit: number;
};

/**
 * `text`: the records as JSON, so that it is handed from thread to thread in one piece. `last`: the value of `after` for the next page;
 * undefined on the last one.
 */
export type PastPage = { readonly text: string; readonly last: RecordId | undefined };

export type PastGap = Pick<Gap, 'cause' | 'count'> & { readonly reason: string | undefined };
