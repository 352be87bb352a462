import type { ReserveRequest, ReserveResult } from '../../../core/usage/usage-store.js';

/** A reservation that was made in memory; its answer waits for the commit. */
export type Made = {
  readonly result: ReserveResult;
  readonly resolve: (result: ReserveResult) => void;
  readonly reject: (error: unknown) => void;
};

type Asked = Omit<Made, 'result'> & { readonly request: ReserveRequest };

/**
 * Requests to reserve of one turn of the event loop. They are decided together at its end, in the order in which they came: the
 * ledger is then in the processor's caches for all but the first, while between two requests of a server lie reading, parsing
 * and hashing.
 */
export class AskedRequests {
  #asked: Asked[] = [];

  add(request: ReserveRequest): Promise<ReserveResult> {
    return new Promise((resolve, reject) => {
      this.#asked.push({ request, resolve, reject });
    });
  }

  /**
   * Decides all requests, and answers the reservations that were made. What was refused, or could not be decided, has its answer
   * at once: a refusal promises nothing, so it need not wait for the commit of a generation that came with it.
   */
  decide(reserve: (request: ReserveRequest) => ReserveResult): readonly Made[] {
    const asked = this.#asked;
    this.#asked = [];
    const made: Made[] = [];
    for (const { request, resolve, reject } of asked)
      try {
        const result = reserve(request);
        if (result.outcome === 'reserved') made.push({ result, resolve, reject });
        else resolve(result);
      } catch (error) {
        reject(error);
      }
    return made;
  }
}
