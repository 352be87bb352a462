/** Milliseconds. */
export type StoreTimings = {
  readonly connectMs: number;
  /** For the answer to one trip. */
  readonly answerMs: number;
  /** No further attempt after so long: callers are waiting. */
  readonly patienceMs: number;
  /** A call that has waited so long for its turn is refused. */
  readonly queueMs: number;
  /** For so long after a turn of several calls, others are expected to come while a turn waits for its locks. */
  readonly crowdMs: number;
  /** The server ends a turn whose process says nothing for so long, e.g. since it was stopped. */
  readonly idleTurnMs: number;
  /** Longer than that: so a stopped replica costs others about a second and fails none of their turns. */
  readonly lockMs: number;
};

export const usualTimings: StoreTimings = {
  connectMs: 2_000,
  answerMs: 5_000,
  patienceMs: 3_000,
  queueMs: 1_500,
  crowdMs: 1_000,
  idleTurnMs: 1_000,
  lockMs: 2_000,
};

/** Of a connection whose turns write. */
export const turnSettings = ({ idleTurnMs, lockMs }: StoreTimings) => ({
  synchronous_commit: 'on',
  idle_in_transaction_session_timeout: idleTurnMs,
  lock_timeout: lockMs,
  statement_timeout: lockMs + 1_000,
  // The planner would scan the dead rows of small tables.
  plan_cache_mode: 'force_generic_plan',
  jit: 'off',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
});
