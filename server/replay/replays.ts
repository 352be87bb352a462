import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { DomainError, isDomainError } from '../../core/errors.js';
import type { Ledger } from '../../core/ledger/ledger.js';
import type { Range } from '../../core/ledger/steps.js';
import type { Logger } from '../../core/log.js';
import type { Clock, EpochMs } from '../../core/units/time.js';
import type { ReplayConfig } from './replayer.js';
import type { ReplayResult } from './result.js';
import { runReplay } from './run-replay.js';

export type ReplayAsk = Range & {
  readonly organisation: string;
  readonly config: ReplayConfig;
};

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

/** Replays of this process: one at a time for each organisation, each in a thread of its own. */
export type Replays = {
  /** Throws REPLAY_RUNNING, which names the running one, and UNAVAILABLE when too many other organisations replay. */
  start(ask: ReplayAsk): ReplayStatus;
  /** The latest one of the organisation, if it has this id. */
  find(organisation: string, id: string): ReplayStatus | undefined;
  /** Its status about every second, and when it has ended; nothing if there is no such replay. */
  follow(organisation: string, id: string): AsyncIterable<ReplayStatus>;
  /** Resolves when it has ended; undefined: there is no such replay. */
  cancel(organisation: string, id: string): Promise<ReplayStatus | undefined>;
  /** Cancels all. May be called twice. */
  stop(): Promise<void>;
};

/** Each takes a processor. */
const mostRunning = 2;
const longestMs = 30 * 60_000;
const followMs = 1_000;
/** Results are kept until the organisation starts another one, of so many organisations. */
const mostKept = 100;

type Job = { status: ReplayStatus; readonly cancel: AbortController; readonly ended: Promise<void> };

export function createReplays({
  ledger,
  clock,
  log,
}: {
  readonly ledger: Pick<Ledger, 'decisions' | 'inputs' | 'usage'>;
  readonly clock: Clock;
  readonly log: Logger;
}): Replays {
  const jobs = new Map<string, Job>();
  let isStopped = false;

  function admit(organisation: string): void {
    const own = jobs.get(organisation)?.status;
    if (own?.state === 'running')
      throw new DomainError(
        'REPLAY_RUNNING',
        `Replay ${own.id} of this organisation is running: wait for it, or cancel it`,
      );
    const running = [...jobs.values()].filter(({ status }) => status.state === 'running');
    if (isStopped || running.length >= mostRunning)
      throw new DomainError('UNAVAILABLE', 'Other organisations are replaying: try again', {
        reason: 'REPLAYS_BUSY',
        retryAfterSeconds: 30,
      });
  }

  return {
    start({ organisation, config, from, to }) {
      admit(organisation);
      const cancel = new AbortController();
      const timer = globalThis.setTimeout(() => cancel.abort(tooLong), longestMs).unref();
      const first: ReplayStatus = {
        id: randomUUID(),
        state: 'running',
        from,
        to,
        startedAt: clock.now(),
        endedAt: undefined,
        done: 0,
        total: undefined,
        error: undefined,
        result: undefined,
      };
      const change = (part: Partial<ReplayStatus>): void => {
        job.status = { ...job.status, ...part };
      };
      const running = runReplay({
        ledger,
        organisation,
        config,
        range: { from, to },
        signal: cancel.signal,
        onProgress: change,
      }).then(
        (result) => change({ state: 'done', result }),
        (error: unknown) => {
          const isCancelled = cancel.signal.aborted && cancel.signal.reason !== tooLong;
          if (!isCancelled) log.warn('replay failed', { organisation, replay: first.id, error });
          change(isCancelled ? { state: 'cancelled' } : { state: 'failed', error: textOf(error) });
        },
      );
      const ended = running.then(() => {
        clearTimeout(timer);
        change({ endedAt: clock.now() });
      });
      const job: Job = { status: first, cancel, ended };
      jobs.delete(organisation);
      jobs.set(organisation, job);
      for (const [former, { status }] of jobs)
        if (jobs.size > mostKept && status.state !== 'running') jobs.delete(former);
      return first;
    },

    find(organisation, id) {
      const status = jobs.get(organisation)?.status;
      return status?.id === id ? status : undefined;
    },

    async *follow(organisation, id) {
      const job = jobs.get(organisation);
      if (job?.status.id !== id) return;
      while (job.status.state === 'running') {
        yield job.status;
        await Promise.race([job.ended, setTimeout(followMs, undefined, { ref: false })]);
      }
      await job.ended;
      yield job.status;
    },

    async cancel(organisation, id) {
      const job = jobs.get(organisation);
      if (job?.status.id !== id) return undefined;
      job.cancel.abort();
      await job.ended;
      return job.status;
    },

    async stop() {
      isStopped = true;
      for (const { cancel } of jobs.values()) cancel.abort();
      await Promise.all([...jobs.values()].map(({ ended }) => ended));
    },
  };
}

const tooLong = new DomainError(
  'UNAVAILABLE',
  `a replay may take ${longestMs / 60_000} minutes: choose a shorter range`,
);

/** An internal error does not tell its cause. */
function textOf(error: unknown): string {
  return isDomainError(error) ? error.message : 'the replay failed: see the log of this process';
}
