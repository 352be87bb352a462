import { Worker } from 'node:worker_threads';
import { DomainError, messageOf } from '../../../core/errors.js';
import type { LedgerFilesOptions } from './ledger-files.js';
import type { SetAside } from './set-aside.js';
import {
  errorOf,
  type Answer,
  type Arguments,
  type Method,
  type Request,
  type Result,
} from './worker-messages.js';

export type WorkerClient = {
  call<Name extends Method>(method: Name, ...args: Arguments<Name>): Promise<Result<Name>>;
  /** Ends the thread as a crash would. The next call starts another one. */
  terminate(): Promise<void>;
  /** Answers what was asked before, closes the files and ends the thread. Safe to call twice. */
  stop(): Promise<void>;
};

type Thread = {
  readonly worker: Worker;
  readonly waiting: Map<number, { resolve(value: unknown): void; reject(error: Error): void }>;
  readonly ended: Promise<void>;
};

/**
 * Starts the ledger's thread and waits until its files are open. A thread that ends on its own fails the calls that
 * wait, as UNAVAILABLE, and the next call starts another one.
 */
export async function startWorker(
  options: LedgerFilesOptions,
  deadlineMs: number,
  onSetAside: (what: SetAside) => void = () => {},
): Promise<WorkerClient> {
  let calls = 0;
  let thread: Promise<Thread> | undefined;
  let stopped: Promise<void> | undefined;

  async function start(): Promise<Thread> {
    const worker = new Worker(new URL('./worker.js', import.meta.url), { workerData: options });
    const waiting: Thread['waiting'] = new Map();
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    let cause: unknown;
    worker.on('message', (message: Answer) => {
      const waiter = waiting.get(message.call);
      waiting.delete(message.call);
      if ('error' in message) waiter?.reject(errorOf(message.error));
      else waiter?.resolve(message.value);
    });
    worker.on('error', (error) => {
      cause = error;
    });
    worker.on('exit', () => {
      thread = undefined;
      const why = cause === undefined ? 'its thread has ended' : messageOf(cause);
      for (const { reject } of waiting.values()) reject(unavailable(`The ledger failed: ${why}`, cause));
      end();
    });
    const started = { worker, waiting, ended };
    try {
      for (const what of (await answerOf(started, 0)) as readonly SetAside[]) onSetAside(what);
    } catch (error) {
      // The next call starts another one, and two must not have the files at once.
      await worker.terminate();
      await ended;
      throw error;
    }
    return started;
  }

  async function answerOf({ waiting }: Thread, call: number): Promise<unknown> {
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

  async function ask(running: Thread, method: Request['method'], args: readonly unknown[]): Promise<unknown> {
    calls += 1;
    const answer = answerOf(running, calls);
    const request: Request = { call: calls, method, arguments: args };
    running.worker.postMessage(request);
    return answer;
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
    call: async (method, ...args) => {
      if (stopped !== undefined) throw unavailable('The ledger is closed.', undefined);
      thread ??= start();
      const running = await thread;
      return (await ask(running, method, args)) as Result<typeof method>;
    },
    terminate: async () => {
      await (await thread)?.worker.terminate();
    },
    stop: () => (stopped ??= close()),
  };
}

function unavailable(message: string, cause: unknown): DomainError {
  return new DomainError('UNAVAILABLE', message, {
    retryAfterSeconds: 1,
    ...(cause !== undefined && { cause }),
  });
}
