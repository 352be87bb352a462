import type { Range } from '../../core/ledger/steps.js';
import type { RegisteredReplay } from '../../core/ledger/replay-register.js';
import type { EpochMs } from '../../core/units/time.js';
import type { ReplayResult } from './result.js';

export type ReplayStatus = Range & {
  readonly id: string;
  readonly state: 'running' | 'done' | 'failed' | 'cancelled';
  readonly startedAt: EpochMs;
  readonly endedAt: EpochMs | undefined;
  /** Operations that were decided again. */
  readonly done: number;
  /** Decisions of the range that the ledger has counted; undefined until it has answered. */
  readonly total: number | undefined;
  /** Why it failed. */
  readonly error: string | undefined;
  readonly result: ReplayResult | undefined;
};

/** As JSON, with amounts as decimal text. */
export function formatStatus(status: ReplayStatus): string {
  return JSON.stringify(status, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
}

/** What a register says. The process of an abandoned replay can no longer say how it ended. */
export function statusOf({ status, state, reportedAt }: RegisteredReplay): ReplayStatus {
  const reported = JSON.parse(status, (name: string, value: unknown) =>
    amounts.has(name) ? BigInt(String(value)) : value,
  ) as ReplayStatus;
  if (state !== 'abandoned') return reported;
  return { ...reported, state: 'failed', endedAt: reportedAt, error: 'the process that ran it has ended' };
}

const amounts: ReadonlySet<string> = new Set(['maxCostWei', 'spentWei']);
