import { systemTimers, type Timers } from '../timers.js';
import type { Ambient } from '../../core/ambient.js';
import type { Chain, Chains } from '../../core/chain/chain.js';
import type { ChainConfig } from '../../core/config/chain-config.js';
import { DomainError, isDomainError } from '../../core/errors.js';
import {
  createMemoryReferences,
  laterOf,
  refusedJump,
  type PriceReference,
  type PriceReferences,
} from '../../core/pricing/price-jump.js';
import { faulty, formatRefusal, type PriceAnswer, type Prices } from '../../core/pricing/price-source.js';
import type { FeeTokenSpec } from '../../core/pricing/fee-token-spec.js';
import { toDollarSpec, isDollar, requireDollars } from '../../core/pricing/native-price.js';
import type { EpochMs } from '../../core/units/time.js';
import { createFeeds } from './chainlink/feeds.js';
import { createDocuments } from './http/documents.js';
import { createPriceInstruments } from './instruments.js';
import { checkPrice, PriceEntry } from './price-entry.js';
import type { SourceDeps } from './source-deps.js';
import { sourceKind, openSource } from './sources.js';
import { createTokenFacts } from './token-facts.js';

export type PricesDeps = Ambient & {
  readonly chains: Pick<Chains, 'get'>;
  /** What is served now: the chains, whose coins' prices in dollars and whose tokens' prices are kept warm. */
  readonly chainConfigs: () => Iterable<Pick<ChainConfig, 'chainId' | 'rpc' | 'feeTokens' | 'nativePrice'>>;
  /** Directory of the header files that HTTP sources name. */
  readonly headersDirectory?: string;
  /** The last accepted prices of all replicas. Default: those of this process. */
  readonly references?: PriceReferences;
  /** Called with each price that was read: whether it has fallen too far to be accepted. */
  readonly onJudged?: (token: FeeTokenSpec, hasJumped: boolean) => void;
  /** Called when a token became usable or unusable, or is refused for another reason or by another source. */
  readonly onChange?: (token: FeeTokenSpec) => void;
  readonly timing?: Partial<PriceTiming>;
  /** Default: system timers. */
  readonly timers?: Timers;
};

type PriceTiming = {
  /** How long an answer is used without asking again. Default 15 s. */
  readonly cacheMs: number;
  /** Age at which prices of served tokens are read again. Default 10 s, so that a quote finds them in the cache. */
  readonly refreshMs: number;
  /** How long the last price is used while its source cannot be reached. Default 60 s. */
  readonly graceMs: number;
  /** Time for a read over HTTP. Default 3 s. */
  readonly httpTimeoutMs: number;
};

const defaultTiming: PriceTiming = {
  cacheMs: 15_000,
  refreshMs: 10_000,
  graceMs: 60_000,
  httpTimeoutMs: 3_000,
};

/** A price that stays the same is kept again after so long, because its age counts. */
const keepEveryMs = 60_000;

/** Prices that can be started and stopped. They also work without `start`, but then nothing is warm. */
export type KeptPrices = Prices & {
  /** The last answer, however old; undefined before the first. For reports, not for quotes. */
  last(token: FeeTokenSpec): PriceAnswer | undefined;
  start(): void;
  /** Lets running reads finish, then closes every connection that it has opened. May be called twice. */
  stop(): Promise<void>;
};

/**
 * Prices of fee tokens from their sources.
 *
 * - Only one read per token and source runs at a time: callers that ask meanwhile wait for the same answer. Tokens that
 *   share a feed or a document share its read.
 * - An answer, including a refusal, is used for `cacheMs`, but never past the moment at which its source calls it
 *   stale.
 * - A source that cannot be reached does not end quotes at once: the last price is used for `graceMs`. Any other fault
 *   ends them: it means that something is wrong, not that something is unknown.
 * - A price that has fallen too far below the last accepted one is refused, and never becomes the one to compare with.
 * - A token whose symbol or decimals on chain are not those of its FeeToken has no price, whatever its source says.
 */
export function createPrices(deps: PricesDeps): KeptPrices {
  return new WarmPrices(deps);
}

class WarmPrices implements KeptPrices {
  readonly #deps: PricesDeps;
  readonly #timing: PriceTiming;
  readonly #sources: SourceDeps;
  readonly #facts: ReturnType<typeof createTokenFacts>;
  readonly #instruments: ReturnType<typeof createPriceInstruments>;
  /** Keyed by the content of the FeeToken, so that a changed source gets a new entry. */
  readonly #entries = new Map<string, PriceEntry>();
  readonly #references: PriceReferences;
  /** The same entries by object: a served token is the same object from request to request. */
  readonly #byToken = new WeakMap<FeeTokenSpec, PriceEntry>();
  readonly #dollars = new Map<number, { readonly usdPerNative: bigint; readonly until: number }>();
  #cancel: (() => void) | undefined;
  #stopped: Promise<void> | undefined;

  constructor(deps: PricesDeps) {
    const { clock, log, headersDirectory } = deps;
    const chain = (chainId: number) => this.#chain(chainId);
    this.#deps = deps;
    this.#timing = { ...defaultTiming, ...deps.timing };
    this.#sources = {
      feeds: createFeeds({ chain }),
      documents: createDocuments({
        clock,
        log,
        timeoutMs: this.#timing.httpTimeoutMs,
        ...(headersDirectory === undefined ? {} : { headersDirectory }),
      }),
      clock,
    };
    this.#facts = createTokenFacts({ chain, clock });
    this.#references = deps.references ?? createMemoryReferences();
    this.#instruments = createPriceInstruments(deps.metrics);
  }

  peek(token: FeeTokenSpec): PriceAnswer | undefined {
    const entry = this.#entry(token);
    const now = this.#deps.clock.now();
    if (entry.answer === undefined || entry.isOlder(this.#timing.cacheMs, now)) return undefined;
    return checkPrice(entry.answer, now);
  }

  async get(token: FeeTokenSpec): Promise<PriceAnswer> {
    return this.peek(token) ?? (await this.#refresh(this.#entry(token)));
  }

  last(token: FeeTokenSpec): PriceAnswer | undefined {
    return this.#entry(token).answer;
  }

  usdPerNative(chainId: number): bigint | undefined {
    const dollars = this.#dollars.get(chainId);
    return dollars !== undefined && this.#deps.clock.now() < dollars.until ? dollars.usdPerNative : undefined;
  }

  start(): void {
    if (this.#cancel !== undefined || this.#stopped !== undefined) return;
    this.#keepWarm();
    // Checked more often than refreshed, so that a token which was just added does not wait long.
    this.#cancel = (this.#deps.timers ?? systemTimers).after(this.#timing.refreshMs / 4, () => {
      this.#cancel = undefined;
      this.start();
    });
  }

  stop(): Promise<void> {
    this.#cancel?.();
    this.#stopped ??= this.#drain();
    return this.#stopped;
  }

  async #drain(): Promise<void> {
    await Promise.all([...this.#entries.values()].map((entry) => entry.flight ?? Promise.resolve()));
    await this.#sources.documents.stop();
  }

  #keepWarm(): void {
    const served = new Set<PriceEntry>();
    for (const { chainId, feeTokens, nativePrice } of this.#deps.chainConfigs()) {
      for (const token of feeTokens) served.add(this.#entry(token));
      if (nativePrice !== undefined) served.add(this.#entry(toDollarSpec(chainId, nativePrice)));
    }
    this.#prune(served);
    const now = this.#deps.clock.now();
    for (const entry of served)
      if (entry.answer === undefined || entry.isOlder(this.#timing.refreshMs, now)) void this.#refresh(entry);
  }

  #prune(served: ReadonlySet<PriceEntry>): void {
    for (const [key, entry] of this.#entries) {
      if (served.has(entry)) continue;
      this.#entries.delete(key);
      entry.isServed = false;
      this.#instruments.forget(entry.token, sourceKind(entry.token.price));
    }
    this.#facts.prune(new Set([...served].map(({ token }) => token)));
  }

  #entry(token: FeeTokenSpec): PriceEntry {
    const known = this.#byToken.get(token);
    if (known?.isServed === true) return known;
    const { chainId, address, symbol, decimals, price } = token;
    const key = JSON.stringify([chainId, address.toLowerCase(), symbol, decimals, price]);
    const entry = this.#entries.get(key) ?? new PriceEntry(token, openSource(price, this.#sources));
    this.#entries.set(key, entry);
    this.#byToken.set(token, entry);
    return entry;
  }

  async #refresh(entry: PriceEntry): Promise<PriceAnswer> {
    if (this.#stopped !== undefined && entry.flight === undefined)
      return faulty('prices', 'UNREACHABLE', 'are not asked, the service is stopping');
    entry.flight ??= this.#read(entry).finally(() => {
      entry.flight = undefined;
    });
    return entry.flight;
  }

  async #read(entry: PriceEntry): Promise<PriceAnswer> {
    const { clock } = this.#deps;
    const { token } = entry;
    const kind = sourceKind(token.price);
    const askedAt = clock.now();
    const startedAt = performance.now();
    const read = await this.#accept(entry, await this.#ask(entry), askedAt);
    this.#instruments.read(kind, read, (performance.now() - startedAt) / 1000);

    const { answer, isNews } = entry.take(read, {
      askedAt,
      now: clock.now(),
      graceMs: this.#timing.graceMs,
    });
    // The token was dropped while it was read: its metrics must not come back.
    if (entry.isServed) this.#instruments.show(entry, kind, clock.now());
    this.#noteDollars(token.chainId, answer, askedAt);
    if (isNews) this.#tell(token, answer);
    return answer;
  }

  async #ask({ token, source }: PriceEntry): Promise<PriceAnswer> {
    try {
      if (isDollar(token)) return requireDollars(await source.read(token));
      const [mismatch, answer] = await Promise.all([this.#facts.check(token), source.read(token)]);
      return mismatch ?? answer;
    } catch (error) {
      // Sources answer every expected fault. Any other error is a bug, and a bug must not give gas away.
      this.#deps.log.error('price source failed', { symbol: token.symbol, error });
      return faulty('price source', 'MALFORMED', 'failed unexpectedly');
    }
  }

  /** The answer, unless it has fallen too far. */
  async #accept(entry: PriceEntry, read: PriceAnswer, askedAt: EpochMs): Promise<PriceAnswer> {
    const { token } = entry;
    // A person has written that one.
    if (!read.ok || token.price.static !== undefined) return read;
    const name = `${token.chainId} ${token.address.toLowerCase()}`;
    try {
      entry.reference = laterOf(await this.#references.last(name), entry.reference);
    } catch (error) {
      if (!isDomainError(error, 'UNAVAILABLE')) throw error;
      if (entry.reference === undefined)
        return faulty(
          read.price.source,
          'UNREACHABLE',
          'is not compared: the last accepted price is unknown',
        );
    }
    const { rate } = read.price;
    const last = entry.reference;
    const jump = refusedJump(read.price, token.price, last, askedAt);
    this.#deps.onJudged?.(token, jump !== undefined);
    if (jump !== undefined) return jump;
    entry.reference = { rate, acceptedAt: askedAt };
    if (last?.rate !== rate || askedAt - last.acceptedAt >= keepEveryMs)
      await this.#keep(name, entry.reference);
    return read;
  }

  async #keep(name: string, reference: PriceReference): Promise<void> {
    try {
      await this.#references.keep(name, reference);
    } catch (error) {
      if (!isDomainError(error, 'UNAVAILABLE')) throw error;
      // The next reading tries again.
      this.#deps.log.warn('an accepted price could not be kept', { name, error });
    }
  }

  #noteDollars(chainId: number, answer: PriceAnswer, askedAt: EpochMs): void {
    if (!answer.ok || answer.price.usdPerNative === undefined) return;
    const { usdPerNative, staleAt = Infinity } = answer.price;
    const until = Math.min(askedAt + this.#timing.cacheMs, staleAt);
    this.#dollars.set(chainId, { usdPerNative, until });
  }

  #tell(token: FeeTokenSpec, answer: PriceAnswer): void {
    const { log, onChange } = this.#deps;
    const fields = { chainId: token.chainId, symbol: token.symbol };
    const what = isDollar(token) ? 'native coin' : 'fee token';
    if (answer.ok) log.info(`${what} has a price`, { ...fields, source: answer.price.source });
    else log.warn(`${what} has no price`, { ...fields, why: formatRefusal(answer.refusal) });
    onChange?.(token);
  }

  /** Throws DomainError: a chain that is not served has no prices. */
  #chain(chainId: number): Chain {
    for (const config of this.#deps.chainConfigs())
      if (config.chainId === chainId) return this.#deps.chains.get(config);
    throw new DomainError('UNAVAILABLE', `chain ${chainId} is not served`);
  }
}
