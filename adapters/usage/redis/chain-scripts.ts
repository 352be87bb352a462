import { DomainError } from '../../../core/errors.js';
import type { EpochMs } from '../../../core/units/time.js';
import type { KnownEpoch } from '../kept-epochs.js';
import type { UsageEpochs } from '../usage-epochs.js';
import { keptOfEpoch } from './data-format.js';
import type { ChainKeys } from './keys.js';
import type { RedisLink } from '../../redis/link.js';
import type { HeadArgs, ScriptCall } from './reserve-call.js';
import { listOf } from '../../redis/reply.js';
import { ownWritesMs, replies, type Script } from './script.js';

/**
 * The number of own writes is renewed this often in Redis. It is not relied on when no renewal has succeeded for long.
 */
const keepEveryMs = ownWritesMs / 24;
const reliedOnMs = ownWritesMs / 2;

type Deps = {
  readonly link: RedisLink;
  readonly chain: ChainKeys;
  readonly chainId: number;
  readonly epochs: UsageEpochs;
  readonly imposedNow: () => EpochMs | 0;
  /** Called with the store's time. */
  readonly noteTime: (now: EpochMs) => void;
};

/**
 * Calls on one chain. Each is fenced by the epoch and by the sequence, which rises with every write:
 * - A store whose sequence is below the highest that this process has seen has lost writes.
 * - A store that knows fewer writes of this process than it has acknowledged to it has lost writes too. The sequence
 *   alone does not show that: if a replica was promoted without a write, the writes of others soon raise it to the same
 *   sequence.
 *
 * Both cases throw USAGE_STORE_LOST, and end the epoch for every process.
 */
export class ChainScripts {
  readonly #deps: Deps;
  #kept = { epoch: '', text: '' };
  #own = { epoch: '', writes: 0, keptAt: -Infinity };

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Runs a script that writes; `keys` and `args` follow those of the head. Replies [code, now, sequence, …]. */
  run(script: Script, keys: readonly string[], args: ScriptCall['args']): Promise<readonly unknown[]> {
    const build = (_: KnownEpoch, head: HeadArgs): ScriptCall => ({
      keys: [...this.#deps.chain.head, ...keys],
      args: [...head, ...args],
    });
    return this.call(script, build, true);
  }

  /**
   * Runs a script whose call is built for the current epoch. Replies as above; without own writes, or with 0, it has
   * written nothing.
   */
  async call(
    script: Script,
    build: (epoch: KnownEpoch, head: HeadArgs) => ScriptCall,
    isWrite: boolean,
  ): Promise<readonly unknown[]> {
    const { link, chainId, epochs } = this.#deps;
    let epoch = epochs.known(chainId) ?? (await epochs.of(chainId));
    for (;;) {
      const { keys, args } = build(epoch, this.#head(epoch));
      const reply = listOf(await link.run(script, keys, args, isWrite));
      const [code, now, sequence, writes] = reply;
      if (typeof now !== 'number') throw unknownReply();
      this.#deps.noteTime(now as EpochMs);
      if (code === replies.behind) return epochs.behind(chainId, epoch);
      if (code !== replies.epochLost) {
        if (isWrite && code === replies.done && typeof writes === 'number' && writes > 0) {
          // A sequence that was only read may not have reached a replica yet. No promise depends on it, so a failover
          // without it loses nothing. Our own write is confirmed by now, and with it everything before it.
          epochs.seen(chainId, Number(sequence));
          this.#wrote(epoch, writes, args[4] === 1);
        }
        return reply;
      }
      // Throws if the epoch is still the same, or if there is none.
      epoch = await epochs.mismatch(chainId, epoch);
    }
  }

  /** Values of the given keys of the chain. */
  async read(keys: readonly string[]): Promise<readonly unknown[]> {
    const { link, chain, chainId, epochs } = this.#deps;
    let epoch = epochs.known(chainId) ?? (await epochs.of(chainId));
    for (;;) {
      // Read before the call: values that this process sees during the call may be newer than its answer.
      const [, text, seen, own] = this.#head(epoch);
      const values = listOf(await link.read('mget', [...chain.head, ...keys]));
      const [kept, , sequence, lastOwn] = values;
      if (kept === text) {
        if (Number(sequence ?? 0) < seen || Number(lastOwn ?? 0) < own) return epochs.behind(chainId, epoch);
        return values.slice(chain.head.length);
      }
      epoch = await epochs.mismatch(chainId, epoch);
    }
  }

  #head({ text, sequence }: KnownEpoch): HeadArgs {
    if (this.#kept.epoch !== text) this.#kept = { epoch: text, text: keptOfEpoch(text) };
    if (this.#own.epoch !== text) this.#own = { epoch: text, writes: 0, keptAt: -Infinity };
    const { writes, keptAt } = this.#own;
    const age = performance.now() - keptAt;
    return [
      this.#deps.imposedNow(),
      this.#kept.text,
      sequence,
      age < reliedOnMs ? writes : 0,
      age < keepEveryMs ? 0 : 1,
    ];
  }

  /** Notes that a call was this process' write with this number. */
  #wrote({ text }: KnownEpoch, number: number, isKept: boolean): void {
    const own = this.#own;
    if (own.epoch !== text) return;
    // The count starts again if Redis has forgotten it in the meantime.
    const isBegun = number === 1 || performance.now() - own.keptAt >= reliedOnMs;
    if (isBegun || number > own.writes) own.writes = number;
    if (isKept || number === 1) own.keptAt = performance.now();
  }
}

export function unknownReply(): DomainError {
  return new DomainError('UNAVAILABLE', 'the usage store gave an answer that is not known', {
    reason: 'USAGE_STORE_DOWN',
    retryAfterSeconds: 1,
  });
}
