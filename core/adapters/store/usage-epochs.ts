import { DomainError } from '../../errors.js';
import type { Logger } from '../../log.js';
import type { Metrics } from '../../metrics.js';
import type { EpochMirror, UsageEpoch, UsageRecovery } from '../../policy/usage-epoch.js';
import type { EpochMs } from '../../units/time.js';

/** The epochs that a usage store keeps beside the data themselves, as text "id:since", or "" where there is none. */
export type KeptEpochs = {
  /** Throws UNAVAILABLE while the store cannot be relied on. */
  assertUsable(): void;
  /** Throws UNAVAILABLE. */
  read(chainId: number): Promise<{ readonly kept: string; readonly now: EpochMs }>;
  /**
   * Begins a new epoch if `expected` is what is kept, and answers what is kept then. The first epoch is that of all usage
   * (since 0), another one begins now. Throws UNAVAILABLE.
   */
  begin(chainId: number, expected: string, isFirst: boolean): Promise<string>;
};

/** The epoch of a chain as stores compare it: "id:since". */
export type KnownEpoch = {
  readonly text: string;
  readonly since: EpochMs;
  readonly longestExpiryMs: number;
};

const rememberMs = 500;
/** The clocks of the store and of the chain may differ by this. */
const skewMs = 120_000;
const mostRaises = 5;

/**
 * Tells a store that has lost the data of a chain from one that has them: the epoch's id stands in the store and in a
 * copy outside of it.
 *
 * - Neither there: the first epoch begins, in the store first. Nothing was signed before both were written.
 * - Only in the store: the copy is made. Only in the copy, or two different ones: the data are lost (USAGE_STORE_LOST)
 *   until {@link UsageEpochs.recover} has begun a new epoch, also in the store first; until the copy follows it is a loss still.
 */
export class UsageEpochs implements UsageRecovery {
  readonly #store: KeptEpochs;
  readonly #mirror: EpochMirror;
  readonly #expiryStepMs: number;
  readonly #log: Logger;
  readonly #lost: { with(labels: { readonly chain: string }): { set(value: number): void } };
  readonly #asked = new Map<number, Promise<KnownEpoch>>();
  readonly #known = new Map<number, KnownEpoch>();

  constructor(deps: {
    readonly store: KeptEpochs;
    readonly mirror: EpochMirror;
    /** What the longest expiry of a new chain starts with, and is raised in steps of. */
    readonly expiryStepMs: number;
    readonly log: Logger;
    readonly metrics: Metrics;
  }) {
    this.#store = deps.store;
    this.#mirror = deps.mirror;
    this.#expiryStepMs = deps.expiryStepMs;
    this.#log = deps.log;
    this.#lost = deps.metrics.gauge({
      name: 'paymaster_usage_store_lost',
      help: '1 while the usage data of a chain are lost, so that nothing is signed for it',
      labels: ['chain'],
    });
  }

  /** The epoch that the store must hold, if it was established before. */
  known(chainId: number): KnownEpoch | undefined {
    return this.#known.get(chainId);
  }

  /** The epoch that the store must hold. Throws UNAVAILABLE; while the data are lost with reason USAGE_STORE_LOST. */
  async of(chainId: number): Promise<KnownEpoch> {
    const known = this.#known.get(chainId);
    if (known !== undefined) return known;
    this.#store.assertUsable();
    const asked = this.#asked.get(chainId);
    if (asked !== undefined) return asked;
    const found = this.#establish(chainId);
    this.#asked.set(chainId, found);
    const forget = (): void => {
      if (this.#asked.get(chainId) === found) this.#asked.delete(chainId);
    };
    // A failure is remembered for a moment: neither the store nor the copy is asked once per request.
    found.then(forget, () => setTimeout(forget, rememberMs).unref());
    return found;
  }

  /** The store has answered with another epoch: it is established anew, which tells a new epoch from a loss. */
  async mismatch(chainId: number, seen: KnownEpoch): Promise<KnownEpoch> {
    if (this.#known.get(chainId)?.text === seen.text) this.#known.delete(chainId);
    const epoch = await this.of(chainId);
    if (epoch.text !== seen.text) return epoch;
    throw new DomainError('UNAVAILABLE', `usage of chain ${chainId} changes its epoch`, {
      reason: 'USAGE_STORE_LOST',
      retryAfterSeconds: 1,
    });
  }

  /** Notes that a promise is about to be made for longer than any before. Throws UNAVAILABLE. */
  async raise(chainId: number, expiryMs: number): Promise<KnownEpoch> {
    const longestExpiryMs = Math.ceil(expiryMs / this.#expiryStepMs) * this.#expiryStepMs;
    for (let attempt = 0; attempt < mostRaises; attempt++) {
      const mirrored = await this.#mirror.get(chainId);
      const isNoted = mirrored === undefined || mirrored.longestExpiryMs >= longestExpiryMs;
      if (isNoted || (await this.#mirror.put(chainId, { ...mirrored, longestExpiryMs }, mirrored))) break;
    }
    this.#known.delete(chainId);
    const epoch = await this.of(chainId);
    if (epoch.longestExpiryMs >= longestExpiryMs) return epoch;
    throw new DomainError('UNAVAILABLE', `the epoch of chain ${chainId} cannot be written`, {
      reason: 'USAGE_STORE_DOWN',
      retryAfterSeconds: 1,
    });
  }

  async recover(chainId: number): Promise<'intact' | 'waiting' | 'recovered'> {
    const mirrored = await this.#mirror.get(chainId);
    const { kept, now } = await this.#store.read(chainId);
    if (mirrored === undefined || kept === epochText(mirrored)) {
      if (mirrored?.lostAt !== undefined) await this.#mirror.put(chainId, intact(mirrored), mirrored);
      return 'intact';
    }
    const waitMs = mirrored.longestExpiryMs + skewMs;
    if (mirrored.lostAt === undefined) {
      await this.#mirror.put(chainId, { ...mirrored, lostAt: now }, mirrored);
      this.#log.error('usage data are lost: nothing is signed until every promise has expired', {
        chainId,
        waitSeconds: Math.ceil(waitMs / 1000),
      });
      return 'waiting';
    }
    if (now < mirrored.lostAt + waitMs) return 'waiting';
    const begun = parseEpoch(await this.#store.begin(chainId, kept, false), mirrored.longestExpiryMs);
    if (!(await this.#mirror.put(chainId, begun, mirrored))) return 'waiting';
    this.#known.delete(chainId);
    this.#asked.delete(chainId);
    this.#log.warn('a new epoch of usage has begun; limits refuse until their windows turn', { chainId });
    return 'recovered';
  }

  async #establish(chainId: number): Promise<KnownEpoch> {
    const mirrored = await this.#mirror.get(chainId);
    let { kept } = await this.#store.read(chainId);
    if (mirrored === undefined) {
      const text = kept === '' ? await this.#store.begin(chainId, '', true) : kept;
      const epoch = parseEpoch(text, this.#expiryStepMs);
      // Two replicas may do this at once: one of them writes the copy, and both must see the same.
      if (!(await this.#mirror.put(chainId, epoch, undefined))) return this.#establish(chainId);
      kept = epochText(epoch);
      return this.#found(chainId, epoch);
    }
    if (kept === epochText(mirrored)) return this.#found(chainId, mirrored);
    this.#lost.with({ chain: String(chainId) }).set(1);
    throw new DomainError(
      'UNAVAILABLE',
      `usage of chain ${chainId} is lost with the usage store: nothing is signed until every earlier promise has expired, or the data are restored`,
      { reason: 'USAGE_STORE_LOST', retryAfterSeconds: 60 },
    );
  }

  #found(chainId: number, epoch: UsageEpoch): KnownEpoch {
    this.#lost.with({ chain: String(chainId) }).set(0);
    const { since, longestExpiryMs } = epoch;
    const known = { text: epochText(epoch), since, longestExpiryMs };
    this.#known.set(chainId, known);
    return known;
  }
}

/** How a store keeps an epoch. */
export function epochText({ id, since }: Pick<UsageEpoch, 'id' | 'since'>): string {
  return `${id}:${since}`;
}

function parseEpoch(text: string, longestExpiryMs: number): UsageEpoch {
  const [id = '', since = ''] = text.split(':');
  return { id, since: Number(since) as EpochMs, longestExpiryMs };
}

function intact({ id, since, longestExpiryMs }: UsageEpoch): UsageEpoch {
  return { id, since, longestExpiryMs };
}
