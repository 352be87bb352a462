import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import type { Ambient } from '../../core/ambient.js';
import { pause } from '../../adapters/timers.js';
import { inTime, withinDeadline } from '../../adapters/within-deadline.js';
import { DomainError, isDomainError } from '../../core/errors.js';
import type { Ledger } from '../../core/ledger/ledger.js';
import { heldMs, type RegisteredReplay, type ReplayRegister } from '../../core/ledger/replay-register.js';
import type { Range } from '../../core/ledger/steps.js';
import type { ProposalReading } from './proposal.js';
import type { ReplayConfig } from './replayer.js';
import { runReplay } from './run-replay.js';
import { formatStatus, statusOf, type ReplayStatus } from './status.js';
import { startReplayThread, type ReplayThread } from './thread.js';

export type ReplayAsk = Range & {
  readonly organisation: string;
  /** What decides; `reader` reads and compiles what is proposed. Its errors are those of the start. */
  readonly configOf: (reader: ProposalReading) => Promise<ReplayConfig>;
  /** Ends the preparation: nobody waits for its answer. Default: never. */
  readonly gone?: AbortSignal;
};

type StartedReplay = {
  readonly status: ReplayStatus;
  /** Its status about every second, and when it has ended; cancels it when `gone` aborts. */
  follow(gone: AbortSignal): AsyncIterable<ReplayStatus>;
};

/** Replays of an installation: one at a time for each organisation, each in a thread of the process that started it. */
export type Replays = ReturnType<typeof createReplays>;

/** Each takes a processor. */
const mostRunning = 2;
const longestMs = 30 * 60_000;
const followMs = 1_000;
const reportMs = 1_000;
/** The process of a replay finds a request to cancel it with its next report. */
const cancelledMs = 250;
const longestPreparationMs = 30_000;

type Job = {
  readonly organisation: string;
  status: ReplayStatus;
  readonly cancel: AbortController;
  /** When the register knows how it ended. */
  ended: Promise<void>;
};

export function createReplays(
  deps: Pick<Ambient, 'clock' | 'log'> & {
    readonly ledger: Pick<Ledger, 'decisions' | 'inputs' | 'usage'>;
    readonly register: ReplayRegister;
  },
) {
  const { ledger, register, clock, log } = deps;
  /** Organisations whose replay runs in this process, or is being started. */
  const busy = new Set<string>();
  const jobs = new Map<string, Job>();
  /** Also those of which the register is still told how they ended. */
  const running = new Set<Promise<void>>();
  const stopping = new AbortController();

  function admit(organisation: string): void {
    if (busy.has(organisation)) throw isRunning(jobs.get(organisation)?.status.id);
    if (stopping.signal.aborted || busy.size >= mostRunning)
      throw new DomainError('REPLAYS_BUSY', 'Other organisations are replaying: try again', {
        retryAfterSeconds: 30,
      });
    busy.add(organisation);
  }

  /** Throws what `configOf` throws, and REPLAYS_BUSY. */
  async function begin(ask: ReplayAsk, thread: ReplayThread): Promise<Job> {
    const { organisation, from, to } = ask;
    const known = await register.find(organisation);
    if (known?.state === 'running') throw isRunning(known.id);
    const config = await prepared(ask, thread);
    const status: ReplayStatus = {
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
    const begunAt = performance.now();
    const other = await register.begin(organisation, status.id, formatStatus(status));
    if (other !== undefined) throw isRunning(other);
    const job: Job = { organisation, status, cancel: new AbortController(), ended: Promise.resolve() };
    jobs.set(organisation, job);
    job.ended = run(job, config, thread, begunAt);
    const { ended } = job;
    running.add(ended);
    void ended.finally(() => running.delete(ended));
    return job;
  }

  async function run(job: Job, config: ReplayConfig, thread: ReplayThread, begunAt: number): Promise<void> {
    const { organisation, cancel, status } = job;
    if (stopping.signal.aborted) cancel.abort();
    const change = (part: Partial<ReplayStatus>): void => {
      job.status = { ...job.status, ...part };
    };
    const timer = globalThis.setTimeout(() => cancel.abort(tooLong), longestMs).unref();
    const over = new AbortController();
    const keeping = keep(job, begunAt, over.signal);
    try {
      const { from, to } = status;
      const { signal } = cancel;
      const range = { from, to };
      const result = await runReplay({
        thread,
        ledger,
        organisation,
        config,
        range,
        signal,
        onProgress: change,
      });
      change({ state: 'done', result });
    } catch (error) {
      const isCancelled = cancel.signal.aborted && !isDomainError(cancel.signal.reason);
      if (!isCancelled) log.warn('replay failed', { organisation, replay: status.id, error });
      change(isCancelled ? { state: 'cancelled' } : { state: 'failed', error: textOf(error) });
    }
    clearTimeout(timer);
    await thread.stop();
    change({ endedAt: clock.now() });
    // Before anybody can read that it has ended: then another one may begin.
    release(organisation);
    over.abort();
    await keeping;
  }

  /** Reports until the register knows how it ended, or has counted it as dead. */
  async function keep(job: Job, begunAt: number, over: AbortSignal): Promise<void> {
    const { organisation, cancel, status } = job;
    for (let heldUntil = begunAt + heldMs; ;) {
      await pause(reportMs, over);
      const isRunning = !over.aborted;
      const at = performance.now();
      try {
        const said = await register.report(organisation, status.id, formatStatus(job.status), isRunning);
        if (said === 'lost') return cancel.abort(lost);
        if (!isRunning) return;
        if (said === 'cancel') cancel.abort();
        heldUntil = at + heldMs;
      } catch (error) {
        const isLost = performance.now() > heldUntil || (stopping.signal.aborted && !isRunning);
        if (isLost) log.warn('replay cannot be reported', { organisation, replay: status.id, error });
        if (isLost) return cancel.abort(lost);
        if (!isRunning) await pause(cancelledMs, stopping.signal);
      }
    }
  }

  function release(organisation: string): void {
    busy.delete(organisation);
    jobs.delete(organisation);
  }

  async function registered(organisation: string, id: string): Promise<RegisteredReplay | undefined> {
    const found = await register.find(organisation);
    return found?.id === id ? found : undefined;
  }

  return {
    /** Throws REPLAYS_BUSY, which names the running one, also when too many others run in this process. */
    async start(ask: ReplayAsk): Promise<StartedReplay> {
      const { organisation } = ask;
      admit(organisation);
      const thread = startReplayThread();
      try {
        const job = await begin(ask, thread);
        return { status: job.status, follow: (gone) => follow(job, gone) };
      } catch (error) {
        await thread.stop();
        release(organisation);
        if (ask.gone?.aborted === true)
          throw new DomainError('INVALID_INPUT', 'The caller did not wait for the answer');
        throw error;
      }
    },

    /** The latest one of the organisation, if it has this id. */
    async find(organisation: string, id: string): Promise<ReplayStatus | undefined> {
      const found = await registered(organisation, id);
      return found && statusOf(found);
    },

    /** Resolves when it has ended; undefined: no replay has this id. */
    async cancel(organisation: string, id: string): Promise<ReplayStatus | undefined> {
      const job = jobs.get(organisation);
      if (job?.status.id === id) {
        job.cancel.abort();
        await job.ended;
      } else {
        // PostgreSQL refuses an id that has not the form of one, so it is looked for first.
        if ((await registered(organisation, id)) === undefined) return undefined;
        await register.cancel(organisation, id);
      }
      for (;;) {
        const found = await registered(organisation, id);
        if (found?.state !== 'running') return found && statusOf(found);
        await pause(cancelledMs);
      }
    },

    /** Cancels those of this process. May be called twice. */
    async stop(): Promise<void> {
      stopping.abort();
      for (const { cancel } of jobs.values()) cancel.abort();
      await Promise.all(running);
    },
  };
}

/** The thread ends with the caller's error: no text holds it for longer. */
function prepared({ configOf, gone }: ReplayAsk, thread: ReplayThread): Promise<ReplayConfig> {
  const tooSlow = (): DomainError =>
    new DomainError('UNAVAILABLE', 'the proposed resources took too long to read');
  const config = configOf(thread);
  return inTime(longestPreparationMs, gone === undefined ? config : withinDeadline(gone, config), tooSlow);
}

async function* follow(job: Job, gone: AbortSignal): AsyncGenerator<ReplayStatus> {
  if (gone.aborted) job.cancel.abort();
  gone.addEventListener('abort', () => job.cancel.abort(), { once: true });
  while (job.status.state === 'running') {
    yield job.status;
    await Promise.race([job.ended, setTimeout(followMs, undefined, { ref: false })]);
  }
  await job.ended;
  yield job.status;
}

function isRunning(id: string | undefined): DomainError {
  const which = id === undefined ? 'Another replay' : `Replay ${id}`;
  return new DomainError(
    'REPLAYS_BUSY',
    `${which} of this organisation is running: wait for it, or cancel it`,
    { retryAfterSeconds: 5 },
  );
}

const tooLong = new DomainError(
  'UNAVAILABLE',
  `a replay may take ${longestMs / 60_000} minutes: choose a shorter range`,
);

const lost = new DomainError('UNAVAILABLE', 'the ledger could not be told that the replay runs');

/** An internal error does not tell its cause. */
function textOf(error: unknown): string {
  return isDomainError(error) ? error.message : 'the replay failed: see the log of this process';
}
