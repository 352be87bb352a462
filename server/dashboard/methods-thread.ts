import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { FairSlots, SlotsBusy } from '../../adapters/fair-slots.js';
import { inTime } from '../../adapters/within-deadline.js';
import { DomainError } from '../../core/errors.js';
import { readMethods, type ContractMethods } from '../../core/resources/abi.js';

/** `readMethods` for what a caller sends. Throws RATE_LIMITED when too many of the organisation wait. */
export type MethodReading = (
  organisation: string,
  abi: string,
  whitelistedMethods: readonly string[],
) => Promise<ContractMethods>;

/** Reading a shorter text takes less time than a thread takes to begin. */
const shortLength = 32_768;
const slots = { slots: 2, perKey: 1, waitingPerKey: 20, maxWaitMs: 10_000 };
const longestMs = 10_000;

/** Long texts are read in a thread each, one at once for each organisation and two in all. */
export function createMethodReading(): MethodReading {
  const threads = new FairSlots(slots);
  return async (organisation, abi, whitelistedMethods) => {
    if (abi.length <= shortLength) return readMethods(abi, whitelistedMethods);
    try {
      return await threads.run(organisation, () => readInThread({ abi, whitelistedMethods }));
    } catch (error) {
      if (!(error instanceof SlotsBusy)) throw error;
      throw new DomainError('RATE_LIMITED', 'Too many ABIs of the organisation are being read', {
        retryAfterSeconds: 1,
      });
    }
  };
}

/** What the thread is given. */
export type AskedMethods = { readonly abi: string; readonly whitelistedMethods: readonly string[] };

async function readInThread(workerData: AskedMethods): Promise<ContractMethods> {
  const thread = new Worker(new URL('./methods-thread-main.js', import.meta.url), { workerData });
  try {
    const answered = once(thread, 'message') as Promise<[ContractMethods]>;
    const tooSlow = (): DomainError => new DomainError('UNAVAILABLE', 'the ABI took too long to read');
    const [methods] = await inTime(longestMs, answered, tooSlow);
    return methods;
  } finally {
    await thread.terminate();
  }
}
