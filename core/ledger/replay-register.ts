import type { EpochMs } from '../units/time.js';

/**
 * Port: the replay that each organisation runs, or has run last, over all processes. Implementations: a table in
 * PostgreSQL; memory, where one process opens the ledger.
 *
 * Guarantees (every implementation passes one conformance suite):
 * - An organisation runs one replay at a time. Its process holds that place for {@link heldMs} after each report;
 *   without a report it counts as dead, for good, and another replay may begin.
 * - Every method throws UNAVAILABLE when the register cannot answer.
 */
export type ReplayRegister = {
  /** Undefined: it has begun, and the former one is forgotten. Otherwise the id of the one that runs. */
  begin(organisation: string, id: string, status: string): Promise<string | undefined>;
  /**
   * Replaces the status of a replay that runs, and with `isRunning` false ends it. `cancel`: somebody has asked for its end.
   * `lost`: it counts as dead, or does not exist; nothing was changed.
   */
  report(
    organisation: string,
    id: string,
    status: string,
    isRunning: boolean,
  ): Promise<'held' | 'cancel' | 'lost'>;
  find(organisation: string): Promise<RegisteredReplay | undefined>;
  /** Its process finds this with its next report. Nothing happens to a replay that does not run. */
  cancel(organisation: string, id: string): Promise<void>;
};

export type RegisteredReplay = {
  readonly id: string;
  /** As it was reported. */
  readonly status: string;
  /** `abandoned`: its process has not reported in time. */
  readonly state: 'running' | 'ended' | 'abandoned';
  readonly reportedAt: EpochMs;
};

/** Several reports; a process whose store was away for a moment loses nothing. */
export const heldMs = 10_000;
