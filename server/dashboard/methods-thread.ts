import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { FairSlots, SlotsBusy } from '../../adapters/fair-slots.js';
import { inTime, withinDeadline } from '../../adapters/within-deadline.js';
import { DomainError } from '../../core/errors.js';
import type { ContractMethods } from '../../core/resources/abi.js';

/**
 * `readMethods` for what a caller sends or has stored, in a thread: no text holds the one that serves. Throws RATE_LIMITED when
 * too many of the organisation wait, UNAVAILABLE after ten seconds, and ends when `gone` aborts.
 */
export type MethodReading = (
  organisation: string,
  asked: MethodsQuestion,
  gone?: AbortSignal,
) => Promise<ContractMethods>;

/** What the thread is asked. */
export type MethodsQuestion = { readonly abi: string; readonly whitelistedMethods: readonly string[] };

/** One at once for each organisation and two in all. */
const slots = { slots: 2, perKey: 1, waitingPerKey: 60 };
const usualPatienceMs = 10_000;
const memoryMb = 128;
/** A thread begins in 50 ms or more, so one that is used often is kept. */
const idleMs = 60_000;

/** `patienceMs`: how long a reading may wait for its turn, and how long it may take. Default 10 s each. */
export function createMethodReading(patienceMs = usualPatienceMs): MethodReading {
  const threads = new FairSlots({ ...slots, maxWaitMs: patienceMs });
  let kept: Reader | undefined;

  async function read(asked: MethodsQuestion, gone: AbortSignal | undefined): Promise<ContractMethods> {
    if (gone?.aborted === true) throw nobodyWaits();
    const reader = kept?.wake() === true ? kept : startReader();
    kept = undefined;
    try {
      const methods = await inTime(patienceMs, cancellable(gone, reader.read(asked)), tooSlow);
      if (kept !== undefined) reader.stop();
      else {
        reader.rest();
        kept = reader;
      }
      return methods;
    } catch (error) {
      reader.stop();
      throw error;
    }
  }

  return async (organisation, asked, gone) => {
    try {
      return await threads.run(organisation, () => read(asked, gone));
    } catch (error) {
      if (!(error instanceof SlotsBusy)) throw error;
      throw new DomainError('RATE_LIMITED', 'Too many ABIs of the organisation are being read', {
        retryAfterSeconds: 1,
      });
    }
  };
}

type Reader = ReturnType<typeof startReader>;

function startReader() {
  const thread = new Worker(new URL('./methods-thread-main.js', import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: memoryMb },
  });
  // The process may end while it waits.
  thread.unref();
  let isEnded = false;
  const ended = new AbortController();
  const end = (cause: unknown): void => {
    isEnded = true;
    ended.abort(new DomainError('INTERNAL', 'the ABI could not be read', { cause }));
  };
  void once(thread, 'exit').then(() => end(new Error('the thread has ended')), end);
  let idle: NodeJS.Timeout | undefined;
  return {
    /** One at a time. */
    async read(asked: MethodsQuestion): Promise<ContractMethods> {
      const answered = once(thread, 'message') as Promise<[ContractMethods]>;
      thread.postMessage(asked);
      const [methods] = await withinDeadline(ended.signal, answered);
      return methods;
    },
    /** It ends when it is not woken in time. */
    rest(): void {
      idle = setTimeout(() => {
        isEnded = true;
        void thread.terminate();
      }, idleMs).unref();
    },
    /** Answers whether it can still be asked. */
    wake(): boolean {
      clearTimeout(idle);
      return !isEnded;
    },
    stop: () => void thread.terminate(),
  };
}

async function cancellable<T>(gone: AbortSignal | undefined, work: Promise<T>): Promise<T> {
  if (gone === undefined) return work;
  try {
    return await withinDeadline(gone, work);
  } catch (error) {
    throw gone.aborted ? nobodyWaits() : error;
  }
}

function tooSlow(): DomainError {
  return new DomainError('UNAVAILABLE', 'the ABI took too long to read');
}

function nobodyWaits(): DomainError {
  return new DomainError('INVALID_INPUT', 'The caller did not wait for the answer');
}
