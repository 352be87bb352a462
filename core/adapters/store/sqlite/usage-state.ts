import { windowAt, windowEnd } from '../../../policy/spending-limit/cycle.js';
import type {
  LimitShare,
  PeekResult,
  ReservationKey,
  ReserveRequest,
  ReserveResult,
} from '../../../policy/usage-store.js';
import type { AddressKey } from '../../../units/address.js';
import type { EpochMs } from '../../../units/time.js';
import {
  ChainBook,
  ofPaymaster,
  slotOf,
  type Account,
  type Entry,
  Names,
  type Name,
  PaymasterBook,
} from './usage-books.js';
import {
  CounterBook,
  findCounter,
  hold,
  newCounter,
  unhold,
  type Counter,
  type Window,
} from './usage-counters.js';
import { reserved, UsageJudge } from './usage-judge.js';
import { heldCost, raised } from './usage-holdings.js';
import type { Op } from './usage-ops.js';
import { balanceOf, findAccount } from './usage-views.js';

type Replacement = { readonly chain: ChainBook; readonly entry: Entry; readonly former: Entry | undefined };

/**
 * A decision that was carried out in memory; `undo` it unless its commit succeeds. `asked`: the counters of the request's
 * limits; those of the entry may be more, in another order.
 */
export type Change = Replacement & { readonly asked: readonly Counter[] };

/** How the journal writes a unit and a mode: by its place. */
export const unitCodes = ['COUNT', 'NATIVE_ASSET'] as const;
export const modeCodes = ['SPONSORED', 'ERC20'] as const;

/**
 * All usage in memory, and the decisions over it: no I/O and no clock of its own. Amounts are gwei or counts.
 *
 * - `counter.reserved` and `account.reserved` are always the sums over the listed entries.
 * - An entry is listed once per paymaster, EntryPoint, sender and nonce of a chain.
 * - Names and windows that were made since the last commit are in `definitions`, as operations that must be written
 *   before anything that uses their numbers.
 */
export class UsageState {
  readonly counters = new CounterBook();
  readonly chains = new Map<number, ChainBook>();
  readonly paymasters = new Map<string, PaymasterBook>();
  readonly messages = new Map<string, { readonly message: string; readonly expiresAt: EpochMs }>();
  /** Operations that define names, windows and generations, to be committed with the next row. */
  definitions: Op[] = [];
  /** A window that ended before this moment may have been forgotten with its use. */
  forgottenUntil = 0;

  readonly ids = new Names<string>((name) => this.definitions.push(['n', name.id, name.text]));
  readonly addresses = new Names<AddressKey>((name) => this.definitions.push(['a', name.id, name.text]));

  readonly #judge = new UsageJudge(this);

  /**
   * Decides a request and carries it out in memory. Throws UNAVAILABLE (DEPOSIT_UNKNOWN) when a balance is not known
   * well enough, which changes nothing.
   */
  reserve(request: ReserveRequest, now: EpochMs): ReserveResult | Change {
    const paymaster = this.#paymasterOf(request);
    if (request.configGeneration > paymaster.generation) {
      paymaster.generation = request.configGeneration;
      this.definitions.push(['g', paymaster.name.id, request.configGeneration]);
    }
    const chain = this.chain(request.key.chainId);
    const entryPoint = this.addresses.of(request.key.entryPoint);
    const slot = slotOf(entryPoint, request.key.sender, request.key.nonce);
    const rivals = chain.rivals(slot);
    const former = ofPaymaster(rivals, request.key.paymasterId);
    const verdict = this.#judge.decide(request, paymaster, chain, former, now);
    if (verdict !== reserved) return verdict;

    const counters: Counter[] = [];
    const costs: number[] = [];
    for (let i = 0; i < request.limits.length; i++) {
      const limit = request.limits[i]!;
      counters.push(this.#counterFor(limit, this.#judge.windows[i], this.#judge.counters[i], now));
      costs.push(limit.cost);
    }
    const entry: Entry = {
      paymaster,
      entryPoint,
      sender: request.key.sender,
      nonce: request.key.nonce,
      slot,
      contract: this.addresses.of(request.contract),
      mode: request.mode,
      funding: this.#nameOfFunding(request.fundingAddress),
      validUntil: request.validUntil,
      // Copies have no room to grow, of which a list that was pushed to keeps 16 places: half of what an entry would take.
      counters: counters.slice(),
      costs: costs.slice(),
      accounts: this.#judge.accounts.slice(),
      needs: request.accounts.map(({ need }) => need),
      userOpHash: undefined,
      rival: undefined,
      place: 0,
    };
    const change: Change = {
      chain,
      entry: former === undefined ? entry : raised(former, entry),
      former,
      asked: counters,
    };
    if (former !== undefined) this.put(change);
    if (former === undefined) this.#take(chain, entry, rivals);
    return change;
  }

  peek(request: ReserveRequest, now: EpochMs): PeekResult {
    const { key } = request;
    const chain = this.chains.get(key.chainId) ?? new ChainBook(key.chainId);
    const former = this.find(key);
    const result = this.#judge.decide(request, this.paymasters.get(key.paymasterId), chain, former, now);
    return {
      result,
      limits: request.limits.map((limit) => {
        const window = windowAt(limit, now);
        const open = this.counters.find(limit.policyId, limit.startMs, window, limit.unit);
        const counter = open === undefined ? undefined : findCounter(open, limit.subject);
        const used = counter === undefined ? 0 : counter.used + counter.reserved - heldCost(former, counter);
        return { used, window, resetsAt: windowEnd(limit, window) };
      }),
      accounts: request.accounts.map((share) => balanceOf(share, findAccount(chain, share))),
    };
  }

  /** Lists the entry instead of its former one. */
  put({ chain, entry, former }: Replacement): void {
    if (former !== undefined) this.drop(chain, former);
    this.#take(chain, entry, chain.rivals(entry.slot));
  }

  #take(chain: ChainBook, entry: Entry, rivals: Entry | undefined): void {
    for (let i = 0; i < entry.counters.length; i++) hold(entry.counters[i]!, entry.costs[i]!);
    for (let i = 0; i < entry.accounts.length; i++) entry.accounts[i]!.reserved += entry.needs[i]!;
    chain.add(entry, rivals);
  }

  undo({ chain, entry, former }: Replacement): void {
    if (former === undefined) this.drop(chain, entry);
    if (former !== undefined) this.put({ chain, entry: former, former: entry });
  }

  /** Ends a reservation: what it held is free again. */
  drop(chain: ChainBook, entry: Entry): void {
    chain.remove(entry);
    for (let i = 0; i < entry.counters.length; i++) unhold(entry.counters[i]!, entry.costs[i]!);
    for (let i = 0; i < entry.accounts.length; i++) entry.accounts[i]!.reserved -= entry.needs[i]!;
  }

  find(key: ReservationKey): Entry | undefined {
    const entryPoint = this.addresses.find(key.entryPoint);
    if (entryPoint === undefined) return undefined;
    return this.chains.get(key.chainId)?.find(slotOf(entryPoint, key.sender, key.nonce), key.paymasterId);
  }

  /** Reservations of one operation, of every paymaster. */
  *ofOperation(
    chain: ChainBook,
    operation: Pick<ReservationKey, 'entryPoint' | 'sender' | 'nonce'>,
  ): IterableIterator<Entry> {
    const entryPoint = this.addresses.find(operation.entryPoint);
    if (entryPoint === undefined) return;
    let entry = chain.rivals(slotOf(entryPoint, operation.sender, operation.nonce));
    for (; entry !== undefined; entry = entry.rival) yield entry;
  }

  chain(chainId: number): ChainBook {
    const known = this.chains.get(chainId);
    if (known !== undefined) return known;
    const chain = new ChainBook(chainId);
    this.chains.set(chainId, chain);
    return chain;
  }

  paymaster(paymasterId: string): PaymasterBook {
    const known = this.paymasters.get(paymasterId);
    if (known !== undefined) return known;
    const name = this.ids.of(paymasterId);
    const book = new PaymasterBook(this, name);
    this.paymasters.set(paymasterId, book);
    return book;
  }

  #paymasterOf({ key, memo }: ReserveRequest): PaymasterBook {
    const found = memo?.found;
    if (found instanceof PaymasterBook && found.state === this && found.name.text === key.paymasterId)
      return found;
    const book = this.paymaster(key.paymasterId);
    if (memo !== undefined) memo.found = book;
    return book;
  }

  account(chain: ChainBook, contract: Name<AddressKey>, funding: Name<AddressKey> | undefined): Account {
    let ofContract = chain.accounts.get(contract.text);
    if (ofContract === undefined) chain.accounts.set(contract.text, (ofContract = new Map()));
    const known = ofContract.get(funding?.text ?? '');
    if (known !== undefined) return known;
    const account: Account = { contract, funding, balance: undefined, readAt: undefined, reserved: 0 };
    ofContract.set(funding?.text ?? '', account);
    return account;
  }

  /** Nearly always an account of the request has the name already, which spares a look-up among all addresses. */
  #nameOfFunding(funding: AddressKey | undefined): Name<AddressKey> | undefined {
    if (funding === undefined) return undefined;
    for (const account of this.#judge.accounts) if (account.funding?.text === funding) return account.funding;
    return this.addresses.of(funding);
  }

  /** The counter of a limit, in a window that is known to last as long as this limit says. */
  #counterFor(
    limit: LimitShare,
    found: Window | undefined,
    known: Counter | undefined,
    now: EpochMs,
  ): Counter {
    if (known !== undefined && known.window.durationMs >= limit.durationMs) return known;
    const { policyId, startMs, durationMs, unit } = limit;
    const index = windowAt(limit, now);
    // Looked for again where none was found: the limit before may have opened it.
    const open = found ?? this.counters.find(policyId, startMs, index, unit);
    // The judgement has just found no counter here: a new one need not be looked for again.
    if (open !== undefined && open.durationMs >= durationMs) return newCounter(open, limit.subject);
    const window = open ?? this.counters.open({ policyId, startMs, durationMs, index, unit });
    window.durationMs = Math.max(window.durationMs, durationMs);
    this.define(window);
    return known ?? newCounter(window, limit.subject);
  }

  define({ id, policyId, startMs, durationMs, index, unit }: Window): void {
    this.definitions.push(['w', id, policyId, startMs, durationMs, index, unitCodes.indexOf(unit)]);
  }
}
