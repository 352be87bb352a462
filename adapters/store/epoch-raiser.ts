import type { Logger } from '../../core/log.js';
import type { EpochMark, EpochMirror, UsageEpoch } from '../../core/usage/epoch.js';
import type { Clock, EpochMs } from '../../core/units/time.js';
import type { KeptEpochs, ChainEpoch } from './kept-epochs.js';
import { mayFall, shorter } from './longest-expiry.js';

const raiseEveryMs = 5_000;
const maxAttempts = 5;

export type FollowedEpoch = { -readonly [K in keyof ChainEpoch]: ChainEpoch[K] } & {
  readonly id: string;
  mirrored: number;
  longestExpiryMs: number;
  longestAt: EpochMs;
  /** When this process last made a promise about as long as the longest, if the mirror does not know yet. */
  longUsedAt: EpochMs | undefined;
};

type Deps = {
  readonly store: KeptEpochs;
  readonly mirror: EpochMirror;
  readonly clock: Clock;
  readonly log: Logger;
  /** What this process has last seen of each chain. */
  readonly seen: ReadonlyMap<number, FollowedEpoch>;
  /** The epoch that is established for a chain. */
  readonly known: (chainId: number) => FollowedEpoch | undefined;
  /** The copy is another one: the next call establishes the epoch again. */
  readonly forget: (chainId: number, text: string) => void;
};

/** Lets the copies of epochs follow what this process has seen, every few seconds once there is something. */
export class EpochRaiser {
  readonly #deps: Deps;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;
  #raising: Promise<boolean> = Promise.resolve(true);

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Something was seen. */
  noted(): void {
    if (this.#isStopped) return;
    this.#timer ??= setInterval(() => void this.#raiseQuietly(), raiseEveryMs).unref();
  }

  /** Raises for the last time. */
  async stop(): Promise<void> {
    if (this.#isStopped) return;
    this.#isStopped = true;
    clearInterval(this.#timer);
    await this.#raiseToTheEnd();
  }

  /** The connection was lost. */
  async interrupted(): Promise<void> {
    if (!this.#isStopped) await this.#raiseToTheEnd();
  }

  /**
   * Raises the copies to the sequences that this process has seen, and reduces a longest expiry that nobody needs. False
   * when another process has written a copy at the same time, so that it is not as high yet.
   */
  async raise(): Promise<boolean> {
    const now = this.#deps.clock.now();
    const marks = new Map<number, EpochMark>();
    for (const [chainId, known] of this.#deps.seen) {
      const { id, sequence, longUsedAt } = known;
      if (sequence === known.mirrored && longUsedAt === undefined && !mayFall(known, now)) continue;
      known.longUsedAt = undefined;
      marks.set(chainId, { id, sequence, ...(longUsedAt === undefined ? {} : { longestAt: longUsedAt }) });
    }
    if (marks.size === 0) return true;
    const copies = await this.#deps.mirror.raise(marks);
    for (const [chainId, mark] of marks) await this.#follow(chainId, mark, copies.get(chainId), now);
    return [...marks].every(([chainId, { id, sequence }]) => {
      const copy = copies.get(chainId);
      return copy?.id !== id || copy.isMoved === true || copy.sequence >= sequence;
    });
  }

  async #follow(chainId: number, mark: EpochMark, copy: UsageEpoch | undefined, now: EpochMs): Promise<void> {
    const known = this.#deps.seen.get(chainId);
    if (known === undefined || known.id !== mark.id) return;
    // The copy is gone, or another process has begun a new epoch: the next call establishes it again.
    if (copy === undefined || copy.id !== mark.id || copy.isMoved === true)
      return this.#deps.forget(chainId, known.text);
    known.mirrored = copy.sequence;
    // From now on the store must have what another process has seen: that process may have ended, and a failover may
    // lose its last writes.
    known.sequence = Math.max(known.sequence, copy.sequence);
    // Until it is established, nobody knows whether the data are there.
    if (this.#deps.known(chainId) !== known) return;
    await clearLoss(this.#deps.mirror, chainId, copy);
    known.longestExpiryMs = copy.longestExpiryMs;
    known.longestAt = copy.longestAt ?? now;
    if (copy.longestAt === undefined) {
      await this.#deps.mirror.put(chainId, { ...copy, longestAt: now }, copy);
    } else if (mayFall(known, now)) {
      const longestExpiryMs = shorter(copy.longestExpiryMs);
      if (!(await this.#deps.mirror.put(chainId, { ...copy, longestExpiryMs, longestAt: now }, copy))) return;
      known.longestExpiryMs = longestExpiryMs;
      known.longestAt = now;
      await this.#deps.store.noteExpiry(chainId, known.text, longestExpiryMs);
    }
  }

  /** Tries again when others write a copy at the same time: when a connection or a release ends, all processes do. */
  async #raiseToTheEnd(): Promise<void> {
    for (let attempt = 0; attempt < maxAttempts && !(await this.#raiseQuietly()); attempt++);
  }

  async #raiseQuietly(): Promise<boolean> {
    // One after the other: a slow mirror does not get two requests at once.
    this.#raising = this.#raising.then(async () => {
      try {
        return await this.raise();
      } catch (error) {
        this.#deps.log.warn('mirroring the sequence of the usage store failed', { error });
        return true;
      }
    });
    return this.#raising;
  }
}

/**
 * Deletes the note of a loss when the data are complete after all: a replica that reached another server has noted a
 * loss. If the note stayed, the next loss would pass without any wait.
 */
export async function clearLoss(mirror: EpochMirror, chainId: number, copy: UsageEpoch): Promise<void> {
  if (copy.lostAt !== undefined) await mirror.put(chainId, foundAgain(copy), copy);
}

function foundAgain(lostOnce: UsageEpoch): UsageEpoch {
  const { lostAt: _, ...epoch } = lostOnce;
  return epoch;
}
