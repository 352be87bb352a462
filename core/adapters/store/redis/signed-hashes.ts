import type { Logger } from '../../../log.js';
import type { ReservationKey } from '../../../policy/usage-store.js';
import type { Hex } from '../../../units/hex.js';
import { kinds, operationName, type ChainKeys } from './keys.js';
import type { RedisLink } from './link.js';
import { hashField } from './record.js';
import { noteSignedScript } from './scripts.js';

const flushMs = 50;
const mostPerFlush = 256;

type Batch = { readonly keys: string[]; readonly args: string[] };
type Deps = {
  readonly link: RedisLink;
  readonly keys: (chainId: number) => ChainKeys;
  readonly log: Logger;
};

/**
 * The hashes that were signed, written together every 50 ms: they cost no round trip of a request. Losing some means
 * that rivals for an operation are all settled, never too few.
 */
export class SignedHashes {
  readonly #deps: Deps;
  #batches = new Map<number, Batch>();
  #timer: NodeJS.Timeout | undefined;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  add(key: ReservationKey, userOpHash: Hex): void {
    let batch = this.#batches.get(key.chainId);
    if (batch === undefined) this.#batches.set(key.chainId, (batch = { keys: [], args: [] }));
    batch.keys.push(`${this.#deps.keys(key.chainId).prefix}${kinds.operation}${operationName(key)}`);
    batch.args.push(key.paymasterId, hashField(key.paymasterId), userOpHash);
    if (batch.keys.length >= mostPerFlush) void this.flush();
    this.#timer ??= setTimeout(() => void this.flush(), flushMs);
  }

  /** Writes what is waiting; never throws. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const batches = [...this.#batches.values()];
    this.#batches = new Map();
    const written = await Promise.allSettled(
      batches.map(({ keys, args }) => this.#deps.link.run(noteSignedScript, keys, args, false)),
    );
    const failed = written.find(({ status }) => status === 'rejected');
    if (failed?.status === 'rejected')
      this.#deps.log.debug('signed hashes were not noted', { error: failed.reason });
  }

  async stop(): Promise<void> {
    await this.flush();
  }
}
