import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { DomainError } from '../../core/errors.js';
import type { DecisionInputs } from '../../core/ledger/record.js';
import type { EpochMs } from '../../core/units/time.js';
import type { PastPromise } from './history.js';
import type { Proposed, ProposedTexts } from './proposal-reader.js';
import type { CompileContext } from './proposed-config.js';
import type { ReplayConfig } from './replayer.js';
import type { Answer, Answers, Request } from './thread-messages.js';

/** A replay in a separate thread. Ask one thing at a time: first about the proposed resources, then `begin`, then the rest. */
export type ReplayThread = ReturnType<typeof startReplayThread>;

/** Live reservations and counts by sender grow with the range; a replay that needs more fails, and nothing else does. */
const memoryMb = 512;

export function startReplayThread() {
  const worker = new Worker(new URL('./thread-main.js', import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: memoryMb },
  });
  // The process may end while a replay runs.
  worker.unref();
  const ended = once(worker, 'exit').then(
    () => new Error('the thread of the replay has ended'),
    (error: unknown) => error,
  );

  async function ask<R extends Request>(request: R): Promise<Answers[R['ask']]> {
    const answered = once(worker, 'message') as Promise<[Answer]>;
    worker.postMessage(request);
    const answer = await Promise.race([
      answered,
      ended.then((error) => {
        const message = 'the replay needed too much memory, or failed: choose a shorter range';
        throw new DomainError('INTERNAL', message, { cause: error });
      }),
    ]);
    const [reply] = answer;
    if (reply.ok) return reply.answer as Answers[R['ask']];
    const { error, problems } = reply;
    if (problems !== undefined) throw new DomainError('INVALID_INPUT', error, { problems });
    throw new DomainError('INTERNAL', `the replay failed: ${error}`);
  }

  return {
    read: (namespace: string, resources: ProposedTexts) => ask({ ask: 'read', namespace, resources }),
    present: (objects: readonly Proposed[]) => ask({ ask: 'present', objects }),
    validate: (now: EpochMs) => ask({ ask: 'validate', now }),
    compile: (name: string, context: CompileContext) => ask({ ask: 'compile', name, context }),
    begin: (config: ReplayConfig) => ask({ ask: 'begin', config }),
    past: (promises: readonly PastPromise[]) => ask({ ask: 'past', promises }),
    /** Answers how many operations were decided so far. */
    take: (records: readonly DecisionInputs[]) => ask({ ask: 'take', records }),
    result: () => ask({ ask: 'result' }),
    /** May be called at any time; what is being asked rejects. */
    stop: async () => void (await worker.terminate()),
  };
}
