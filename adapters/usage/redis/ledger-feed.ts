import type { FeedEntry, FeedState, LedgerFeed } from '../../../core/ledger/feed.js';
import { ledgerFull } from '../../../core/ledger/full.js';
import { recordsIn } from '../../../core/ledger/record-lines.js';
import { pause } from '../../pause.js';
import type { RedisLink } from '../../redis/link.js';
import { listOf, textOf, textsOf } from '../../redis/reply.js';
import type { ChainKeys } from './keys.js';
import { gapRecords } from './ledger-gaps.js';
import {
  acknowledgeScript,
  forgetConsumersScript,
  listChainScript,
  offerScript,
  readRecordsOfGroup,
  recordGapsScript,
  stateOfRecords,
} from './ledger-scripts.js';
import { pages } from './listing.js';
import type { LedgerRoom } from './reserve-call.js';
import type { LedgerOptions } from './usage-options.js';

type Deps = {
  readonly link: RedisLink;
  readonly keyPrefix: string;
  readonly keys: (chainId: number) => ChainKeys;
  /** Name of this consumer. */
  readonly identity: string;
  readonly options: LedgerOptions;
};

/** What is added is seen this soon. No connection waits in Redis, so that all calls can share one. */
const pollMs = 100;
/** The list of chains is written again this often, in case Redis has lost it, and read this often. */
const listEveryMs = 60_000;
const chainsEveryMs = 1_000;
/** Entries that are acknowledged together, so that no single call blocks Redis for long. */
const perPage = 500;
/**
 * A pod that was killed holds up what it had read for no longer. One that only takes longer to store it loses nothing: the ledger ignores
 * the ids that it gets twice.
 */
const defaultClaimAfterMs = 10_000;
const defaultBytes = 256 * 2 ** 20;

/**
 * The feed of all chains over a consumer group per chain. Only acknowledging removes entries, by their ids, so nothing
 * can be removed that is not stored.
 */
export class RedisLedgerFeed implements LedgerFeed {
  readonly #deps: Deps;
  readonly #chainsKey: string;
  /** When this process last listed a chain, on the monotonic clock. */
  readonly #listedAt = new Map<number, number>();
  /** Per chain, where to look next for entries that others have left. */
  readonly #claimFrom = new Map<number, string>();
  #chains: { readonly ids: readonly number[]; readonly readAt: number } = { ids: [], readAt: -Infinity };
  /** Records in an entry, when some were read last. */
  #perEntry = 1;
  /** The chain that is read first, in turn. */
  #turn = 0;
  #forgotAt = -Infinity;
  readonly #stopped = new AbortController();

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#chainsKey = `${deps.keyPrefix}ledger-chains`;
  }

  /** Room for the records of one chain: an equal part of the budget. */
  room(): LedgerRoom {
    const { link, options } = this.#deps;
    const byMemory = link.maxmemory === 0 ? defaultBytes : link.maxmemory / 4;
    const chains = Math.max(1, this.#chains.ids.length, this.#listedAt.size);
    return {
      bytes: Math.floor((options.budgetBytes ?? byMemory) / chains),
      signs: options.onFull === 'Sign',
    };
  }

  /**
   * Lists a chain for consumers. Undefined when this process has listed it before; now and then it is listed again
   * meanwhile, since the list is not confirmed by replicas. Throws UNAVAILABLE.
   */
  list(chainId: number): Promise<void> | undefined {
    const listedAt = this.#listedAt.get(chainId);
    if (listedAt === undefined) return this.#list(chainId);
    if (performance.now() - listedAt < listEveryMs) return undefined;
    this.#listedAt.set(chainId, performance.now());
    // The next time comes soon enough.
    this.#list(chainId).catch(() => {});
    return undefined;
  }

  async #list(chainId: number): Promise<void> {
    await this.#deps.link.run(listChainScript, [this.#chainsKey], [chainId], false);
    this.#listedAt.set(chainId, performance.now());
  }

  async read(limit: number, waitMs: number): Promise<readonly FeedEntry[]> {
    const until = performance.now() + waitMs;
    for (;;) {
      const found = await this.#readAll(limit);
      const rest = until - performance.now();
      if (found.length > 0 || rest <= 0 || this.#stopped.signal.aborted) return found;
      await pause(Math.min(pollMs, rest), this.#stopped.signal);
    }
  }

  async acknowledge(entries: readonly FeedEntry[]): Promise<void> {
    for (const [chainId, ofChain] of Map.groupBy(entries, (entry) => entry.chainId)) {
      const [records, bytes] = this.#deps.keys(chainId).ledger;
      for (const page of pages(ofChain, perPage)) {
        const args = page.flatMap(({ position, text }) => [position, Buffer.byteLength(text)]);
        await this.#deps.link.run(acknowledgeScript, [records, bytes], args, false);
      }
    }
  }

  async offer(chainId: number, texts: readonly string[], share = 0.5): Promise<void> {
    if (texts.length === 0) return;
    await this.list(chainId);
    const [records, bytes] = this.#deps.keys(chainId).ledger;
    const room = Math.floor(this.room().bytes * share);
    const added = await this.#deps.link.run(offerScript, [records, bytes], [room, ...texts], false);
    if (added !== 1) throw ledgerFull();
  }

  async state(): Promise<FeedState> {
    let [length, bytes, lagMs, fullness] = [0, 0, 0, 0];
    for (const chainId of await this.#chainIds()) {
      const [records, size] = this.#deps.keys(chainId).ledger;
      const reply = listOf(await this.#deps.link.run(stateOfRecords, [records, size], [], false)).map(Number);
      const [ofLength = 0, ofBytes = 0, ofLag = 0] = reply;
      length += ofLength;
      bytes += ofBytes;
      lagMs = Math.max(lagMs, ofLag);
      fullness = Math.max(fullness, Math.min(1, ofBytes / this.room().bytes));
    }
    return { length, bytes, lagMs, fullness };
  }

  /** Ends reads that wait. The connection is the store's. */
  async stop(): Promise<void> {
    this.#stopped.abort();
  }

  async #readAll(limit: number): Promise<readonly FeedEntry[]> {
    const ids = await this.#chainIds();
    await this.#forgetConsumers(ids);
    const found: FeedEntry[] = [];
    // Another chain comes first each time, so that a busy one does not hold up the others.
    this.#turn += 1;
    for (let i = 0; i < ids.length && found.length < limit; i++) {
      const chainId = ids[(this.#turn + i) % ids.length]!;
      found.push(...(await this.#readChain(chainId, limit - found.length)));
    }
    return found;
  }

  async #readChain(chainId: number, limit: number): Promise<readonly FeedEntry[]> {
    const { link, identity, options } = this.#deps;
    const keys = this.#deps.keys(chainId).ledger;
    const from = this.#claimFrom.get(chainId) ?? '0-0';
    const half = Math.floor(this.room().bytes / 2);
    const args = [
      identity,
      Math.ceil(limit / this.#perEntry),
      options.claimAfterMs ?? defaultClaimAfterMs,
      from,
      half,
    ];
    // Confirmed, so that nothing is stored that a failover takes back: it would be a promise that never ends. What was
    // read without confirmation is read again after `claimAfterMs`.
    const [next, entries, gaps] = listOf(await link.run(readRecordsOfGroup, keys, args, true));
    this.#claimFrom.set(chainId, textOf(next) ?? '0-0');
    const counted = textsOf(gaps).filter((text) => text !== undefined);
    if (counted.length > 0) await link.run(recordGapsScript, keys, gapRecords(chainId, counted), false);
    const fields = textsOf(entries);
    const found: FeedEntry[] = [];
    for (let i = 0; i + 2 < fields.length; i += 3) {
      const [position = '', reservation = '', text = ''] = fields.slice(i, i + 3);
      const entry = { chainId, position, text };
      found.push(reservation === '' ? entry : { ...entry, reservation });
    }
    const records = found.reduce((sum, entry) => sum + recordsIn(entry), 0);
    if (found.length > 0) this.#perEntry = Math.max(1, records / found.length);
    return found;
  }

  async #forgetConsumers(ids: readonly number[]): Promise<void> {
    const { link, identity, options } = this.#deps;
    if (performance.now() - this.#forgotAt < listEveryMs) return;
    this.#forgotAt = performance.now();
    for (const chainId of ids) {
      const [records] = this.#deps.keys(chainId).ledger;
      const idleMs = options.forgetConsumersAfterMs ?? 3_600_000;
      await link.run(forgetConsumersScript, [records], [identity, idleMs], false);
    }
  }

  async #chainIds(): Promise<readonly number[]> {
    const { ids, readAt } = this.#chains;
    const isKnown = [...this.#listedAt.keys()].every((chainId) => ids.includes(chainId));
    if (isKnown && performance.now() - readAt < chainsEveryMs) return ids;
    const members = textsOf(await this.#deps.link.read('smembers', [this.#chainsKey]));
    const found = new Set([...this.#listedAt.keys(), ...members.map(Number)]);
    this.#chains = { ids: [...found].toSorted((a, b) => a - b), readAt: performance.now() };
    return this.#chains.ids;
  }
}
