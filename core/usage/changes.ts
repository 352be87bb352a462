import type { Account } from './accounts.js';
import type { Counter } from './counters.js';
import type { FenceState } from './fences.js';
import type { Entry } from './reservations.js';

/** What has to be stored of a chain, besides its cursor, epoch and sequence. */
export type Changes = {
  /** Those that are marked as changed, once each; one may have ended since. */
  readonly reservations: Entry[];
  /** Rows of those that have ended. */
  readonly ended: number[];
  /** Their settled use; one at 0 is not stored. */
  readonly counters: Set<Counter>;
  /** Their balance; one without is not stored. */
  readonly accounts: Set<Account>;
  /** One that the ledger has forgotten is not stored. */
  readonly fences: Set<FenceState>;
};

export function noChanges(): Changes {
  return { reservations: [], ended: [], counters: new Set(), accounts: new Set(), fences: new Set() };
}
