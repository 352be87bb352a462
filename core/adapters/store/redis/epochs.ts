import { randomUUID } from 'node:crypto';
import { DomainError } from '../../../errors.js';
import type { Logger } from '../../../log.js';
import type { Metrics } from '../../../metrics.js';
import type { EpochMirror, UsageEpoch, UsageRecovery } from '../../../policy/usage-epoch.js';
import type { EpochMs } from '../../../units/time.js';
import { chainKeys } from './keys.js';
import type { RedisLink } from './link.js';
import { listOf, textOf } from './reply.js';
import { writeEpochScript } from './scripts.js';

/** The epoch of a chain as scripts compare it: "id:since". */
export type KnownEpoch = {
  readonly text: string;
  readonly since: EpochMs;
  readonly longestExpiryMs: number;
};

const rememberMs = 500;
/** What the bound of a new chain starts with and is raised in steps of: the default bound of a paymaster. */
const expiryStepMs = 7_200_000;
/** The clocks of Redis and of the chain may differ by this. */
const skewMs = 120_000;
const mostRaises = 5;

/**
 * Tells a Redis that has lost the data of a chain from one that has them: the epoch's id stands in Redis and in a copy
 * outside of it, and every script compares them.
 *
 * - Neither there: the first epoch begins, in Redis first. Nothing was signed before both were written.
 * - Only in Redis: the copy is made. Only in the copy, or two different ones: the data are lost (USAGE_STORE_LOST)
 *   until {@link UsageEpochs.recover} has begun a new epoch, also in Redis first; until the copy follows it is a loss still.
 */
export class UsageEpochs implements UsageRecovery {
  readonly #link: RedisLink;
  readonly #mirror: EpochMirror;
  readonly #prefix: string;
  readonly #log: Logger;
  readonly #imposedNow: () => EpochMs | 0;
  readonly #lost: { with(labels: { readonly chain: string }): { set(value: number): void } };
  readonly #asked = new Map<number, Promise<KnownEpoch>>();
  readonly #known = new Map<number, KnownEpoch>();

  constructor(deps: {
    readonly link: RedisLink;
    readonly mirror: EpochMirror;
    readonly prefix: string;
    readonly log: Logger;
    readonly metrics: Metrics;
    readonly imposedNow: () => EpochMs | 0;
  }) {
    this.#link = deps.link;
    this.#mirror = deps.mirror;
    this.#prefix = deps.prefix;
    this.#log = deps.log;
    this.#imposedNow = deps.imposedNow;
    this.#lost = deps.metrics.gauge({
      name: 'paymaster_usage_store_lost',
      help: '1 while the usage data of a chain are lost, so that nothing is signed for it',
      labels: ['chain'],
    });
  }

  /** The epoch that scripts must find, if it was established before. */
  known(chainId: number): KnownEpoch | undefined {
    return this.#known.get(chainId);
  }

  /** The epoch that scripts must find. Throws UNAVAILABLE; while the data are lost with reason USAGE_STORE_LOST. */
  async of(chainId: number): Promise<KnownEpoch> {
    const known = this.#known.get(chainId);
    if (known !== undefined) return known;
    this.#link.assertUsable();
    const asked = this.#asked.get(chainId);
    if (asked !== undefined) return asked;
    const found = this.#establish(chainId);
    this.#asked.set(chainId, found);
    const forget = (): void => {
      if (this.#asked.get(chainId) === found) this.#asked.delete(chainId);
    };
    // A failure is remembered for a moment: neither Redis nor the copy is asked once per request.
    found.then(forget, () => setTimeout(forget, rememberMs).unref());
    return found;
  }

  /** A script has found another epoch: it is established anew, which tells a new epoch from a loss. */
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
    const longestExpiryMs = Math.ceil(expiryMs / expiryStepMs) * expiryStepMs;
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
    const { kept, now } = await this.#read(chainId);
    if (mirrored === undefined || kept === formatEpoch(mirrored)) {
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
    const written = await this.#write(chainId, kept, false);
    const next = { ...written, longestExpiryMs: mirrored.longestExpiryMs };
    if (!(await this.#mirror.put(chainId, next, mirrored))) return 'waiting';
    this.#known.delete(chainId);
    this.#asked.delete(chainId);
    this.#log.warn('a new epoch of usage has begun; limits refuse until their windows turn', { chainId });
    return 'recovered';
  }

  async #establish(chainId: number): Promise<KnownEpoch> {
    const mirrored = await this.#mirror.get(chainId);
    let { kept } = await this.#read(chainId);
    if (mirrored === undefined) {
      const epoch = kept === '' ? await this.#write(chainId, '', true) : parseEpoch(kept);
      // Two replicas may do this at once: one of them writes the copy, and both must see the same.
      if (!(await this.#mirror.put(chainId, epoch, undefined))) return this.#establish(chainId);
      kept = formatEpoch(epoch);
      return this.#found(chainId, epoch);
    }
    if (kept === formatEpoch(mirrored)) return this.#found(chainId, mirrored);
    this.#lost.with({ chain: String(chainId) }).set(1);
    throw new DomainError(
      'UNAVAILABLE',
      `usage of chain ${chainId} is lost with the usage store: nothing is signed until every earlier promise has expired`,
      { reason: 'USAGE_STORE_LOST', retryAfterSeconds: 60 },
    );
  }

  #found(chainId: number, epoch: UsageEpoch): KnownEpoch {
    this.#lost.with({ chain: String(chainId) }).set(0);
    const { since, longestExpiryMs } = epoch;
    const known = { text: formatEpoch(epoch), since, longestExpiryMs };
    this.#known.set(chainId, known);
    return known;
  }

  async #read(chainId: number): Promise<{ readonly kept: string; readonly now: EpochMs }> {
    // What is kept can never be this text, so nothing is written.
    const reply = await this.#call(chainId, 'read', '', false, false);
    return { kept: reply.kept, now: reply.now };
  }

  async #write(chainId: number, expected: string, isFirst: boolean): Promise<UsageEpoch> {
    return parseEpoch((await this.#call(chainId, expected, randomUUID(), isFirst, true)).kept);
  }

  async #call(
    chainId: number,
    expected: string,
    id: string,
    isFirst: boolean,
    isWrite: boolean,
  ): Promise<{ readonly kept: string; readonly now: EpochMs }> {
    const { epoch } = chainKeys(this.#prefix, chainId);
    const args = [this.#imposedNow(), expected, id, isFirst ? 1 : 0];
    const reply = await this.#link.run(writeEpochScript, [epoch], args, isWrite);
    const [kept, now] = listOf(reply);
    return { kept: textOf(kept) ?? '', now: Number(now) as EpochMs };
  }
}

function formatEpoch({ id, since }: UsageEpoch): string {
  return `${id}:${since}`;
}

function parseEpoch(text: string): UsageEpoch {
  const [id = '', since = ''] = text.split(':');
  return { id, since: Number(since) as EpochMs, longestExpiryMs: expiryStepMs };
}

function intact({ id, since, longestExpiryMs }: UsageEpoch): UsageEpoch {
  return { id, since, longestExpiryMs };
}
