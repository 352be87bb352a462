import { DomainError } from '../../core/errors.js';
import type { Logger } from '../../core/log.js';
import type { Metrics } from '../../core/metrics.js';
import {
  findLossId,
  skewMs,
  unreachableSequence,
  type EpochMirror,
  type UsageEpoch,
  type UsageRecovery,
} from '../../core/usage/epoch.js';
import type { Clock } from '../../core/units/time.js';
import { clearLoss, EpochRaiser, type FollowedEpoch } from './epoch-raiser.js';
import { epochText, parseKept, type KeptEpoch, type KeptEpochs, type ChainEpoch } from './kept-epochs.js';
import { expiryStepMs, fallsAt, shorter, roundUpToStep } from './longest-expiry.js';

const rememberMs = 500;
const maxAttempts = 5;

type Deps = {
  readonly store: KeptEpochs;
  readonly mirror: EpochMirror;
  /** The store's time as far as this process knows it. */
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
};

/**
 * Detects that a store has lost data of a chain: the epoch's id and a sequence are kept both in the store and in a copy
 * outside of it (the mirror).
 *
 * - In neither: the first epoch begins, in the store first. Nothing is signed before both are written.
 * - Only in the store: the copy is made.
 * - Only in the copy, or two different ones: the data are lost (USAGE_STORE_LOST) until {@link UsageEpochs.recover} has
 *   begun a new epoch. It also begins in the store first; until the copy follows, the data still count as lost.
 * - The store's sequence is below the copy's, or below one that this process has seen: old data, which is a loss as
 *   well. The copy follows the store every few seconds and at `stop`, so that it still shows a loss when other
 *   processes, or all, have ended.
 * - The copy was restored: nothing shows how old the data are, so this is a loss too.
 *
 * `begun`: only in the store. `lost`: nobody has noted when. `waiting`: noted in the copy, until every promise has expired.
 *
 *     none    ── of ──────────────────────────────────────────────────────────────────────► intact
 *     begun   ── of ──────────────────────────────────────────────────────────────────────► intact
 *     intact  ── the copy is gone ────────────────────────────────────────────────────────► begun
 *     intact  ── data are wiped, data are older, the copy is restored, behind ────────────► lost
 *     lost    ── the data are back ───────────────────────────────────────────────────────► intact
 *     lost    ── recover ─────────────────────────────────────────────────────────────────► waiting
 *     waiting ── the copy is restored ────────────────────────────────────────────────────► lost
 *     waiting ── the data are back ───────────────────────────────────────────────────────► intact
 *     waiting ── recover when every promise has expired, recover with the loss accepted ──► intact
 *
 * Whatever meets data that are back clears the note of the loss (`of`, `recover`, `raise`). After a restored copy they never are: no
 * data reach its sequence. Store and copy that are gone together look like `none`, so the copy is kept in another place.
 *
 * The longest expiry is noted before the first promise of that length is made. It is halved once no promise longer than
 * the half has been made for the time of the longest expiry plus an outage of the mirror: all longer promises have then
 * expired.
 */
export class UsageEpochs implements UsageRecovery {
  readonly #deps: Deps;
  readonly #lost: { with(labels: { readonly chain: string }): { set(value: number): void } };
  readonly #asked = new Map<number, Promise<ChainEpoch>>();
  readonly #known = new Map<number, FollowedEpoch>();
  readonly #noting = new Map<number, Promise<void>>();
  /** What this process has last seen of each chain. It is kept while the epoch is established again. */
  readonly #seen = new Map<number, FollowedEpoch>();
  /** How often the connection was lost. */
  #interruptions = 0;
  readonly #raiser: EpochRaiser;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#raiser = new EpochRaiser({
      ...deps,
      seen: this.#seen,
      known: (chainId) => this.#known.get(chainId),
      forget: (chainId, text) => this.#forget(chainId, text),
    });
    this.#lost = deps.metrics.gauge({
      name: 'paymaster_usage_store_lost',
      help: '1 while the usage data of a chain are lost, so that nothing is signed for it',
      labels: ['chain'],
    });
  }

  /** The epoch that the store must hold, if it has been established. */
  known(chainId: number): ChainEpoch | undefined {
    return this.#known.get(chainId);
  }

  /** The epoch that the store must hold. Throws UNAVAILABLE; with reason USAGE_STORE_LOST while the data are lost. */
  async of(chainId: number): Promise<ChainEpoch> {
    const known = this.#known.get(chainId);
    if (known !== undefined) return known;
    this.#deps.store.assertUsable();
    const asked = this.#asked.get(chainId);
    if (asked !== undefined) return asked;
    const found = this.#establish(chainId);
    this.#asked.set(chainId, found);
    const forget = (): void => {
      if (this.#asked.get(chainId) === found) this.#asked.delete(chainId);
    };
    // A failure is remembered for a moment, so that neither the store nor the copy is asked for every request.
    found.then(forget, () => setTimeout(forget, rememberMs).unref());
    return found;
  }

  /** Notes that a call was answered from data with this sequence. */
  seen(chainId: number, sequence: number): void {
    const known = this.#known.get(chainId);
    if (known === undefined || known.sequence >= sequence) return;
    known.sequence = sequence;
    this.#raiser.noted();
  }

  /**
   * The connection to the store is gone, and other data may be behind the next one. So every process compares with the copy
   * again before it relies on the store, also one that has seen less than others; and each copies what it has seen at once.
   */
  async interrupted(): Promise<void> {
    this.#interruptions += 1;
    this.#known.clear();
    await this.#raiser.interrupted();
  }

  /**
   * The store has answered with another epoch. The epoch is established again, which distinguishes a new epoch from a
   * loss.
   */
  async mismatch(chainId: number, seen: ChainEpoch): Promise<ChainEpoch> {
    this.#forget(chainId, seen.text);
    const epoch = await this.of(chainId);
    if (epoch.text !== seen.text) return epoch;
    throw new DomainError('UNAVAILABLE', `usage of chain ${chainId} changes its epoch`, {
      reason: 'USAGE_STORE_LOST',
      retryAfterSeconds: 1,
    });
  }

  /**
   * The store has answered from data that are older than `seen.sequence`. The epoch in the store is replaced, so that
   * every process notices, even one that has seen less. Always throws UNAVAILABLE.
   */
  async behind(chainId: number, seen: ChainEpoch): Promise<never> {
    await this.#deps.store.begin(chainId, seen.text, false);
    await this.mismatch(chainId, seen);
    throw lost(chainId);
  }

  /** Whether a promise of this length may be made now; otherwise call {@link UsageEpochs.note} first. */
  isNoted(chainId: number, expiryMs: number): boolean {
    const known = this.#known.get(chainId);
    if (known === undefined || expiryMs > known.longestExpiryMs) return false;
    if (expiryMs <= shorter(known.longestExpiryMs)) return true;
    const now = this.#deps.clock.now();
    if (now > fallsAt(known)) return false;
    known.longUsedAt = now;
    return true;
  }

  /** Notes in store and copy that a promise of this length is about to be made. Throws UNAVAILABLE. */
  async note(chainId: number, expiryMs: number): Promise<ChainEpoch> {
    // One after the other: each forgets the epoch that the others rely on, to read it again.
    const noting = (this.#noting.get(chainId) ?? Promise.resolve()).then(() =>
      this.#noteAlone(chainId, expiryMs),
    );
    const done = noting.then(
      () => {},
      () => {},
    );
    this.#noting.set(chainId, done);
    return noting;
  }

  async #noteAlone(chainId: number, expiryMs: number): Promise<ChainEpoch> {
    const { text } = await this.of(chainId);
    for (let attempt = 0; attempt < maxAttempts && !this.isNoted(chainId, expiryMs); attempt++) {
      const mirrored = await this.#deps.mirror.get(chainId);
      if (mirrored !== undefined) {
        const longestExpiryMs = Math.max(mirrored.longestExpiryMs, roundUpToStep(expiryMs));
        await this.#deps.store.noteExpiry(chainId, text, longestExpiryMs);
        const next = { ...mirrored, longestExpiryMs, longestAt: this.#deps.clock.now() };
        if (!(await this.#deps.mirror.put(chainId, next, mirrored))) continue;
      }
      this.#forget(chainId, text);
      await this.of(chainId);
    }
    const epoch = await this.of(chainId);
    if (this.isNoted(chainId, expiryMs)) return epoch;
    throw new DomainError('UNAVAILABLE', `the epoch of chain ${chainId} cannot be written`, {
      reason: 'USAGE_STORE_DOWN',
      retryAfterSeconds: 1,
    });
  }

  async recover(chainId: number, acceptedLoss?: string): Promise<'intact' | 'waiting' | 'recovered'> {
    const copy = await this.#deps.mirror.get(chainId);
    const found = await this.#deps.store.read(chainId);
    if (copy === undefined || this.#isIntact(chainId, copy, found)) {
      if (copy !== undefined) await clearLoss(this.#deps.mirror, chainId, copy);
      return 'intact';
    }
    const mirrored = await this.#raisedToSeen(chainId, copy);
    this.#forget(chainId, epochText(mirrored));
    const waitMs = mirrored.longestExpiryMs + skewMs;
    if (mirrored.lostAt === undefined || mirrored.isMoved === true) {
      // If it were written here as it is, a restored copy would look like any other. That its data are lost must stay
      // visible.
      const sequence = mirrored.isMoved === true ? unreachableSequence : mirrored.sequence;
      await this.#deps.mirror.put(chainId, { ...mirrored, sequence, lostAt: found.now }, mirrored);
      this.#deps.log.error('usage data are lost: nothing is signed until every promise has expired', {
        chainId,
        waitSeconds: Math.ceil(waitMs / 1000),
      });
      return 'waiting';
    }
    const leftMs = mirrored.lostAt + waitMs - found.now;
    const isAccepted = acceptedLoss !== undefined && acceptedLoss === findLossId(mirrored);
    if (leftMs > 0 && !isAccepted) return 'waiting';
    const begun = await this.#deps.store.begin(chainId, found.kept, false);
    const { longestExpiryMs } = mirrored;
    await this.#deps.store.noteExpiry(chainId, begun.kept, longestExpiryMs);
    const next = { ...parseKept(begun), longestExpiryMs, longestAt: begun.now };
    if (!(await this.#deps.mirror.put(chainId, next, mirrored))) return 'waiting';
    this.#asked.delete(chainId);
    this.#seen.delete(chainId);
    this.#deps.log.warn('a new epoch of usage has begun; limits refuse until their windows turn', {
      chainId,
    });
    if (leftMs > 0)
      this.#deps.log.error(
        'loss of usage data accepted: promises made before it may still be mined, and count nowhere',
        {
          chainId,
          acceptedLoss,
          skippedSeconds: Math.ceil(leftMs / 1000),
        },
      );
    return 'recovered';
  }

  /** Updates the mirror for the last time. */
  stop(): Promise<void> {
    return this.#raiser.stop();
  }

  /** See {@link EpochRaiser.raise}. */
  raise(): Promise<boolean> {
    return this.#raiser.raise();
  }

  async #establish(chainId: number): Promise<ChainEpoch> {
    const interruptions = this.#interruptions;
    // The copy first: meanwhile the store can only have moved forward.
    const mirrored = await this.#deps.mirror.get(chainId);
    let found = await this.#deps.store.read(chainId);
    if (mirrored === undefined) {
      if (found.kept === '') found = await this.#deps.store.begin(chainId, '', true);
      const longestExpiryMs = Math.max(expiryStepMs, found.longestExpiryMs);
      const epoch = { ...parseKept(found), longestExpiryMs, longestAt: found.now };
      // Two replicas may do this at once. One of them writes the copy, and both must see the same one.
      if (!(await this.#deps.mirror.put(chainId, epoch, undefined))) return this.#establish(chainId);
      if (interruptions !== this.#interruptions) return this.#establish(chainId);
      return this.#found(chainId, epoch, found);
    }
    if (this.#isIntact(chainId, mirrored, found)) {
      await clearLoss(this.#deps.mirror, chainId, mirrored);
      // The copy may have risen since, or the data may be others.
      if (interruptions !== this.#interruptions) return this.#establish(chainId);
      return this.#found(chainId, mirrored, found);
    }
    this.#lost.with({ chain: String(chainId) }).set(1);
    await this.#raisedToSeen(chainId, mirrored);
    throw lost(chainId);
  }

  /**
   * When a loss is noticed, the copy is raised at once to the sequence that this process has seen. Otherwise that knowledge would
   * end with the process, and the same old data, restored once more, would then look as if they had never been lost.
   * Returns the copy as it is afterwards. Throws UNAVAILABLE.
   */
  async #raisedToSeen(chainId: number, copy: UsageEpoch): Promise<UsageEpoch> {
    const seen = this.#seen.get(chainId);
    if (seen === undefined || seen.id !== copy.id || seen.sequence <= copy.sequence) return copy;
    const copies = await this.#deps.mirror.raise(
      new Map([[chainId, { id: seen.id, sequence: seen.sequence }]]),
    );
    return copies.get(chainId) ?? copy;
  }

  #isIntact(chainId: number, mirrored: UsageEpoch, { kept, sequence }: KeptEpoch): boolean {
    if (mirrored.isMoved === true || kept !== epochText(mirrored)) return false;
    const seen = this.#seen.get(chainId);
    return sequence >= mirrored.sequence && !(seen?.text === kept && sequence < seen.sequence);
  }

  #found(chainId: number, epoch: UsageEpoch, { sequence, now }: KeptEpoch): ChainEpoch {
    this.#lost.with({ chain: String(chainId) }).set(0);
    const { id, since, longestExpiryMs, longestAt = now } = epoch;
    const text = epochText(epoch);
    const expiry = { longestExpiryMs, longestAt, longUsedAt: undefined };
    const known = { text, id, since, sequence, mirrored: epoch.sequence, ...expiry };
    this.#known.set(chainId, known);
    this.#seen.set(chainId, known);
    return known;
  }

  #forget(chainId: number, text: string): void {
    if (this.#known.get(chainId)?.text === text) this.#known.delete(chainId);
  }
}

function lost(chainId: number): DomainError {
  return new DomainError(
    'UNAVAILABLE',
    `usage of chain ${chainId} is lost or older than what was signed: nothing is signed until every earlier promise has expired`,
    { reason: 'USAGE_STORE_LOST', retryAfterSeconds: 60 },
  );
}
