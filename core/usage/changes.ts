import type { Account } from './accounts.js';
import type { Counter } from './counters.js';
import type { FenceState } from './fences.js';
import type { Entry } from './reservations.js';
import type { AddedRecord, TakenStep } from './usage-store.js';

/** What must be stored for a chain, besides its cursor, epoch and sequence. */
export type Changes = {
  /** Reservations marked as changed, once each; some may have ended since. */
  readonly reservations: Entry[];
  /** Row numbers of reservations that have ended. */
  readonly ended: number[];
  /** Counters whose settled use changed. A counter at 0 is not stored. */
  readonly counters: Set<Counter>;
  /** Accounts whose balance changed. An account without a balance is not stored. */
  readonly accounts: Set<Account>;
  /** Fences that changed. A fence that the ledger has forgotten is not stored. */
  readonly fences: Set<FenceState>;
  /** For the feed of the ledger, in their order. */
  readonly records: AddedRecord[];
  /** Steps that were taken, and blocks after which steps are forgotten, in their order. */
  readonly steps: (TakenStep | { readonly takesBackAfter: number })[];
};

export function noChanges(): Changes {
  return {
    reservations: [],
    ended: [],
    counters: new Set(),
    accounts: new Set(),
    fences: new Set(),
    records: [],
    steps: [],
  };
}
