import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { DomainError } from '../../core/errors.js';
import type { DecisionInputs } from '../../core/ledger/record.js';
import type { PastPromise } from './history.js';
import type { ReplayConfig } from './replayer.js';
import type { ReplayResult } from './result.js';
import type { Answer, Request } from './thread-messages.js';

/** A replay in a thread of its own. Ask one thing at a time. */
export type ReplayThread = {
  past(promises: readonly PastPromise[]): Promise<void>;
  /** Answers how many operations were decided so far. */
  take(records: readonly DecisionInputs[]): Promise<number>;
  result(): Promise<ReplayResult>;
  /** May be called at any time; what is being asked rejects. */
  stop(): Promise<void>;
};

/** Live reservations and counts by sender grow with the range; a replay that needs more fails, and nothing else does. */
const memoryMb = 512;

export function startReplayThread(config: ReplayConfig): ReplayThread {
  const worker = new Worker(new URL('./thread-main.js', import.meta.url), {
    workerData: config,
    resourceLimits: { maxOldGenerationSizeMb: memoryMb },
  });
  // The process may end while a replay runs.
  worker.unref();
  const ended = once(worker, 'exit').then(
    () => new Error('the thread of the replay has ended'),
    (error: unknown) => error,
  );

  async function ask(request: Request): Promise<Extract<Answer, { ok: true }>> {
    const answered = once(worker, 'message') as Promise<[Answer]>;
    worker.postMessage(request);
    const answer = await Promise.race([
      answered,
      ended.then((error) => {
        throw new DomainError(
          'INTERNAL',
          'the replay needed too much memory, or failed: choose a shorter range',
          {
            cause: error,
          },
        );
      }),
    ]);
    const [reply] = answer;
    if (!reply.ok) throw new DomainError('INTERNAL', `the replay failed: ${reply.error}`);
    return reply;
  }

  return {
    past: async (promises) => void (await ask({ ask: 'past', promises })),
    take: async (records) => (await ask({ ask: 'take', records })).replayed,
    result: async () => {
      const { result } = await ask({ ask: 'result' });
      if (result === undefined) throw new DomainError('INTERNAL', 'the replay answered no result');
      return result;
    },
    stop: async () => void (await worker.terminate()),
  };
}
