import { Worker } from 'node:worker_threads';
import { DomainError, errorMessage } from '../../../core/errors.js';
import { usualLedgerBytes } from '../../../core/ledger/ledger.js';
import { toDomainError } from '../../sqlite/plain-error.js';
import type { StoredLedger } from './postgres-ledger.js';
import type { Answer, Methods, Request, ThreadOptions } from './sqlite-thread.js';

type SqliteLedgerOptions = Omit<ThreadOptions, 'searchMs' | 'maxBytes'> & {
  /** Bytes of the whole file. Default 10 GB. */
  readonly maxBytes?: number;
  /** A search for decisions answers what it has found after this time. Default 5,000. */
  readonly searchMs?: number;
  /** The longest that an answer may take. Default 30,000. */
  readonly deadlineMs?: number;
};

/**
 * The ledger in the file of the usage store, which writes it and must have the file open. Questions and sums are the work of a
 * separate thread. When it ends by itself, it fails the calls that wait, as UNAVAILABLE, and the next call starts another one.
 */
export async function createSqliteLedger(options: SqliteLedgerOptions): Promise<StoredLedger> {
  const { searchMs = 5_000, deadlineMs = 30_000, maxBytes = usualLedgerBytes } = options;
  let calls = 0;
  let thread: Promise<Thread> | undefined;
  let stopped: Promise<void> | undefined;

  async function start(): Promise<Thread> {
    const worker = new Worker(new URL('./sqlite-thread.js', import.meta.url), {
      workerData: { ...options, maxBytes, searchMs } satisfies ThreadOptions,
    });
    const started = watch(worker, () => {
      thread = undefined;
    });
    try {
      await awaitAnswer(started, 0, deadlineMs);
    } catch (error) {
      await worker.terminate();
      throw error;
    }
    return started;
  }

  async function ask(running: Thread, method: keyof Methods, args: readonly unknown[]): Promise<unknown> {
    calls += 1;
    // Before its answer is waited for: what cannot be sent throws here, and a deadline that nobody hears of would end the process.
    running.worker.postMessage({ call: calls, method, arguments: args } satisfies Request);
    return awaitAnswer(running, calls, deadlineMs);
  }

  async function call<Name extends keyof Methods>(
    method: Name,
    ...args: Parameters<Methods[Name]>
  ): Promise<Awaited<ReturnType<Methods[Name]>>> {
    if (stopped !== undefined) throw unavailable('The ledger is closed.', undefined);
    thread ??= start();
    return (await ask(await thread, method, args)) as Awaited<ReturnType<Methods[Name]>>;
  }

  async function close(): Promise<void> {
    const running = await thread?.catch(() => undefined);
    if (running === undefined) return;
    await ask(running, 'close', []).catch(() => running.worker.terminate());
    await running.ended;
  }

  thread = start();
  await thread;
  return {
    rollUp: () => call('rollUp'),
    usage: (query) => call('usage', query),
    spent: (query) => call('spent', query),
    decisions: (query) => call('decisions', query),
    decision: (organisation, id) => call('decision', organisation, id),
    funds: (query) => call('funds', query),
    statement: (query) => call('statement', query),
    prices: (query) => call('prices', query),
    past: (query) => call('past', query),
    gaps: (query) => call('gaps', query),
    changes: {
      record: (write) => call('recordChange', write),
      list: (query) => call('changes', query),
    },
    names: {
      keep: (names) => call('keepNames', names),
      list: (organisation, kind) => call('names', organisation, kind),
    },
    prune: (now) => call('prune', now),
    size: async () => ({ used: await call('usedBytes'), capacity: maxBytes }),
    ping: async () => void (await call('usedBytes')),
    stop: () => (stopped ??= close()),
  };
}

type Thread = {
  readonly worker: Worker;
  readonly waiting: Map<number, { resolve(value: unknown): void; reject(error: Error): void }>;
  readonly ended: Promise<void>;
};

function watch(worker: Worker, onEnd: () => void): Thread {
  const waiting: Thread['waiting'] = new Map();
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  let cause: unknown;
  worker.on('message', (message: Answer) => {
    const waiter = waiting.get(message.call);
    waiting.delete(message.call);
    if ('error' in message) waiter?.reject(toDomainError(message.error));
    else waiter?.resolve(message.value);
  });
  worker.on('error', (error) => {
    cause = error;
  });
  worker.on('exit', () => {
    onEnd();
    const why = cause === undefined ? 'its thread has ended' : errorMessage(cause);
    for (const { reject } of waiting.values()) reject(unavailable(`The ledger failed: ${why}`, cause));
    end();
  });
  return { worker, waiting, ended };
}

async function awaitAnswer({ waiting }: Thread, call: number, deadlineMs: number): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  waiting.set(call, { resolve, reject });
  const timer = setTimeout(() => {
    waiting.delete(call);
    reject(unavailable(`The ledger did not answer within ${deadlineMs / 1000} s`, undefined));
  }, deadlineMs);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
  }
}

function unavailable(message: string, cause: unknown): DomainError {
  return new DomainError('UNAVAILABLE', message, {
    retryAfterSeconds: 1,
    ...(cause !== undefined && { cause }),
  });
}
