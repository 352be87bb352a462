import type { Account } from './accounts.js';
import type { Counter } from './counters.js';
import type { FenceState } from './fences.js';
import type { Entry } from './reservations.js';

/** What has to be stored of a chain, besides its cursor, epoch and sequence. */
export type Changes = {
  /** By row; undefined: ended. */
  readonly reservations: Map<number, Entry | undefined>;
  /** Their settled use; one at 0 is not stored. */
  readonly counters: Set<Counter>;
  /** Their balance; one without is not stored. */
  readonly accounts: Set<Account>;
  /** One that the ledger has forgotten is not stored. */
  readonly fences: Set<FenceState>;
};

export function noChanges(): Changes {
  return { reservations: new Map(), counters: new Set(), accounts: new Set(), fences: new Set() };
}
