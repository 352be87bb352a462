import { expect } from '@jest/globals';
import type { FollowerStep, StepResult } from '../../../core/usage/follower-step.js';
import type { AccountId, Commit, Reservation } from '../../../core/usage/reservation.js';
import {
  chainFence,
  type LimitShare,
  type PeekResult,
  type ReserveRequest,
} from '../../../core/usage/reserve-request.js';
import type { UsageStore } from '../../../core/usage/usage-store.js';
import { always, windowAt } from '../../../core/usage/window.js';
import type { Settlement } from '../../../core/ledger/record.js';
import { DomainError } from '../../../core/errors.js';
import { toSeconds, type EpochMs, type EpochSeconds } from '../../../core/units/time.js';
import { gwei } from '../../../core/units/wei.js';
import {
  aDigest,
  aHash,
  anAddress,
  aRequest,
  chainId,
  contract,
  funding,
  hourMs,
  seconds,
  sorted,
  startMs,
} from '../../conformance/usage-requests.js';
import type { aClock } from './clock.js';
import {
  aStepDecision,
  aStepExpiry,
  aStepReversal,
  aStepSettlement,
  type WrittenRecord,
} from '../../conformance/step-records.js';
import { UsageModel } from './usage-model.js';
import type { Ask, End, Step } from './usage-steps.js';

/** A store that can be restarted, and whose process (or server) can be killed; both answer the store afterwards. */
export type Subject = {
  readonly store: UsageStore;
  readonly clock: ReturnType<typeof aClock>;
  restart(): Promise<UsageStore>;
  crash(): Promise<UsageStore>;
  /** While it is on, commits fail. Without it such steps are left out. */
  fail?(isOn: boolean): void;
  /** Records that were written since the last call, in the order of their ids. */
  takeRecords(): Promise<readonly WrittenRecord[]>;
  stop(): Promise<void>;
};

const accounts: readonly AccountId[] = [
  { contract },
  { contract, fundingAddress: funding },
  { contract: anAddress(0xc1) },
];
const fenceIds = ['pm-0', 'pm-1', chainFence, 'contract:x'];
const notTaken: StepResult = { isTaken: false };
const charged = ['loss/a', 'loss/b'];
/** By how much a clock may go back. */
const skewMs = 540_000;

/** Takes the steps on the store and on the model side by side; every answer and everything that can be read is equal. */
export async function checkAgainstModel(steps: readonly Step[], subject: Subject): Promise<void> {
  const run = new Difference(subject);
  try {
    await run.begin();
    for (const step of steps) {
      await run.take(step);
      await run.compare();
    }
  } finally {
    await subject.stop();
  }
}

type AsWas = Omit<Reservation, 'commit'> & { readonly commit?: Omit<Commit, 'until'> };

class Difference {
  readonly #subject: Subject;
  readonly #model: UsageModel;
  readonly #thresholds = [30, 5, 200, 90].map((threshold) => ({ threshold, enforce: true }));
  #store: UsageStore;
  #generation = 1;
  #records = 0;
  /** The latest that the clock has shown. */
  #newest: EpochMs;
  #last: FollowerStep | undefined;
  /** Reservations as they were before a step ended them. */
  #ended: Reservation[] = [];

  constructor(subject: Subject) {
    this.#subject = subject;
    this.#store = subject.store;
    this.#model = new UsageModel(subject.clock);
    this.#newest = subject.clock.now();
  }

  async begin(): Promise<void> {
    await this.#follow({ balances: accounts.map((id) => this.#balance(id, 300)) });
  }

  async take(step: Step): Promise<void> {
    const { clock } = this.#subject;
    switch (step.do) {
      case 'ask': {
        const generation = Math.max(1, this.#generation + step.generation);
        this.#generation = Math.max(generation, this.#generation);
        // A longer expiry than any before waits for its note, and others of the batch would overtake it.
        const expiresMinutes = Math.max(...step.asks.map((one) => one.expiresMinutes));
        await this.#ask(step.asks.map((one) => this.#request({ ...one, expiresMinutes }, generation)));
        // A refusal shows a newer generation too, and is not durable by itself.
        await this.#both((store) => store.noteGenerations(chainId, fencesAt(this.#generation)));
        return;
      }
      case 'peek': {
        const request = this.#request(step.ask, this.#generation);
        const [real, model] = await this.#each((store) => answered(store.peek(request)));
        expect(verdictOf(real)).toEqual(verdictOf(model));
        return;
      }
      case 'fail':
        return this.#fail(step.asks.map((one) => this.#request(one, this.#generation)));
      case 'suspend':
        return this.#both((store) => store.setSuspended(chainId, fenceIds[step.id]!, step.isSuspended));
      case 'threshold':
        this.#thresholds[step.limit] = step;
        return;
      case 'clock': {
        // Back by less than a store promises to bear.
        const to = Math.max(clock.now() + step.minutes * 60_000, this.#newest - skewMs);
        clock.advance(to - clock.now());
        this.#newest = Math.max(this.#newest, to) as EpochMs;
        return;
      }
      case 'follow':
        return this.#end(step.ends, step.charge);
      case 'repeat': {
        const last = this.#last;
        if (last !== undefined)
          expect(await this.#each((store) => store.advance(last))).toEqual([notTaken, notTaken]);
        return;
      }
      case 'balance': {
        const read = this.#balance(accounts[step.account]!, step.balance);
        if (!step.isFirst) return this.#follow({ balances: [read] });
        return this.#both((store) => store.addBalance(chainId, { ...read, reserved: gwei(0) }));
      }
      case 'dropCommits': {
        const [real, model] = await this.#each((store) => store.dropCommits(chainId));
        expect(real).toBe(model);
        return;
      }
      case 'takeBack': {
        const live = sorted(await this.#model.reservations(chainId));
        const picked = live[step.pick % live.length];
        const digest = picked?.promises.at(-1)?.digest;
        if (picked === undefined || digest === undefined) return;
        const promise = {
          key: picked.key,
          digest: step.isOther ? aDigest(0) : digest,
          ...this.#ending(aStepExpiry),
        };
        const [real, model] = await this.#each((store) => store.takeBack(promise));
        expect(real).toEqual(model);
        return;
      }
      case 'forget':
        return this.#both((store) => store.forgetAccounts(chainId, [accounts[step.account]!]));
      case 'restart':
        this.#store = await this.#subject.restart();
        return;
      case 'crash':
        this.#store = await this.#subject.crash();
        return;
    }
  }

  /** Compares everything that can be read from both. Windows that have ended do not count and need not be kept. */
  async compare(): Promise<void> {
    const counters = [0, 1].flatMap((pm) =>
      [0, 1, 2].flatMap((sender) => this.#limits({ ...anAsk, pm, sender }, this.#subject.clock.now())),
    );
    const named = [
      ...counters,
      ...['all', 'pm-0', 'pm-1'].map((counter) => ({ counter, unit: 'NATIVE_ASSET' as const })),
      ...charged.map((counter) => ({ counter, unit: 'NATIVE_ASSET' as const })),
      { counter: 'live', unit: 'COUNT' as const },
    ].map(({ counter, unit }) => ({ counter, unit }));
    const [real, model] = await this.#each(async (store) => ({
      counters: await store.counters(chainId, named),
      reservations: sorted(await store.reservations(chainId)).map((one) => this.#asWas(one)),
      live: await store.liveCount(chainId),
      accounts: byName(await store.accounts(chainId)),
      cursor: await store.cursor(chainId),
      suspended: (await store.suspended(chainId)).toSorted(),
    }));
    expect(real).toEqual(model);
    expect(await this.#subject.takeRecords()).toEqual(this.#model.takeRecords(chainId));
  }

  async #ask(requests: readonly ReserveRequest[]): Promise<void> {
    // Without waiting in between, so that most share a turn of the event loop and a commit.
    const [real, model] = await this.#each((store) =>
      Promise.all(requests.map((request) => answered(store.reserve(request)))),
    );
    expect(real).toEqual(model);
  }

  async #fail(requests: readonly ReserveRequest[]): Promise<void> {
    if (this.#subject.fail === undefined) return;
    this.#subject.fail(true);
    const answers = await Promise.allSettled(requests.map((request) => this.#store.reserve(request)));
    this.#subject.fail(false);
    // A store may leave a disk that failed alone for a second.
    this.#subject.clock.advance(1_001);
    this.#newest = Math.max(this.#newest, this.#subject.clock.now()) as EpochMs;
    expect(answers.filter((one) => one.status === 'fulfilled' && one.value.outcome === 'reserved')).toEqual(
      [],
    );
  }

  async #end(ends: readonly End[], charge: number): Promise<void> {
    const live = sorted(await this.#model.reservations(chainId));
    const ended = this.#ended;
    const of = (how: End['how'], from = live) =>
      ends
        .filter((end) => end.how === how && from.length > 0)
        .map((end) => ({ ...end, ...from[end.pick % from.length]! }));
    // Nobody settles and restores one operation in one step.
    const restored = of('restored', ended).filter(
      ({ key }) => !live.some((one) => operationOf(one) === operationOf({ key })),
    );
    const step = {
      settled: [
        ...of('settled').map(({ key, cost }) => ({
          key,
          actualCost: gwei(cost),
          ...this.#ending(aStepSettlement),
        })),
        ...of('paid').map(({ key }) => ({ key, actualCost: undefined, ...this.#ending(aStepSettlement) })),
      ],
      released: [
        ...of('released').map(({ key }) => ({ key, ...this.#ending(aStepExpiry) })),
        ...of('expired').map(({ key, validUntil, cost }) => ({
          key,
          validUntil: (validUntil - (cost % 2)) as EpochSeconds,
          ...this.#ending(aStepExpiry),
        })),
      ],
      forfeited: of('forfeited').map(({ key }) => ({ key, ...this.#ending(aStepExpiry) })),
      records: restored.flatMap(({ recordId }) =>
        recordId === undefined
          ? []
          : [{ reservation: recordId, record: aStepReversal((this.#records += 1)) }],
      ),
      restored: [...Map.groupBy(restored, operationOf).values()].flatMap(([one]) =>
        withoutCommit(this.#asWas(one!)),
      ),
      charges:
        charge === 0
          ? []
          : charged.map((counter) => ({
              counter,
              unit: 'NATIVE_ASSET' as const,
              until: always.until,
              amount: charge,
            })),
    };
    await this.#follow(step);
    const stillLive = new Set((await this.#model.reservations(chainId)).map(operationOf));
    const gone = live.filter((one) => !stillLive.has(operationOf(one))).flatMap(withoutCommit);
    this.#ended = [...gone, ...ended].slice(0, 10);
  }

  #ending(make: (number: number) => Settlement): { readonly record: Settlement } {
    return { record: make((this.#records += 1)) };
  }

  /** A reservation as the follower restores it: limits whose windows have ended no longer matter. */
  #asWas(reservation: Reservation): AsWas {
    const {
      key,
      promises,
      folded,
      recordId,
      validUntil,
      limits,
      holds,
      accounts: needs,
      commit,
    } = reservation;
    const amounts = { validUntil, limits: this.#current(limits), holds, accounts: needs };
    const one = { key, promises, folded, ...amounts, ...(recordId === undefined ? {} : { recordId }) };
    if (commit === undefined) return one;
    // Stores may show the former end of a commit that was replaced; finalize and dropCommits show the real one.
    const { signed, until: _, ...rest } = commit;
    if (signed === undefined) return { ...one, commit: rest };
    return { ...one, commit: { ...rest, signed: { ...signed, limits: this.#current(signed.limits) } } };
  }

  #current(limits: Reservation['limits']): Reservation['limits'] {
    return limits.filter(({ until }) => until > this.#newest);
  }

  async #follow(step: Partial<FollowerStep>): Promise<void> {
    const [real, model] = await this.#each(async (store) => {
      const result = await this.#advance(store, step);
      return result.isTaken && sorted(result.ended).map((one) => this.#asWas(one));
    });
    expect(real).toBeTruthy();
    expect(real).toEqual(model);
  }

  /** The next step of the chain; the model takes it second. */
  #advance(store: UsageStore, change: Partial<FollowerStep>): Promise<StepResult> {
    if (store !== this.#model) {
      const blockNumber = (this.#last?.next.blockNumber ?? 0) + 1;
      this.#last = {
        chainId,
        expected: this.#last?.next,
        next: { blockNumber, blockHash: aHash(blockNumber), timestamp: seconds(blockNumber) },
        settled: [],
        released: [],
        forfeited: [],
        charges: [],
        restored: [],
        balances: [],
        ...change,
      };
    }
    return store.advance(this.#last!);
  }

  #balance(id: AccountId, balance: number) {
    return { ...id, balance: gwei(balance), readAt: this.#subject.clock.now() };
  }

  #request(ask: Ask, generation: number): ReserveRequest {
    const now = this.#subject.clock.now();
    const { pm, cost, mode, phase } = ask;
    const validUntil = (toSeconds(now) + ask.expiresMinutes * 60) as EpochSeconds;
    // Equal digests are of equal promises, as hashes are.
    const content = [ask.digest % 3, cost, mode.length, pm, validUntil % 1_000_000];
    const digest = content.reduce((sum, part) => sum * 1_000 + part, 0);
    const wallet = { contract, fundingAddress: funding };
    return aRequest({
      // Nonces of four keys, two of which have several.
      key: {
        paymasterId: `pm-${pm}`,
        sender: anAddress(ask.sender),
        nonce: (BigInt(Math.min(ask.nonce, 5)) << 200n) + BigInt(ask.nonce % 2),
      },
      // Some come from a process without a ledger.
      ...(digest % 4 === 0 ? {} : { record: aStepDecision((this.#records += 1)) }),
      ...(phase === undefined
        ? {}
        : { phase: { kind: phase.kind, commitment: aHash(phase.commitment + 100 * pm) } }),
      fences: [...fencesAt(generation).slice(pm, pm + 1), ...fencesAt(generation).slice(2)],
      promise: {
        digest: aDigest(digest),
        mode,
        contract: pm === 0 ? contract : anAddress(0xc1),
        prefundWei: BigInt(cost) * 10n ** 18n,
        validUntil,
        ...(digest % 3 === 0 ? { hashes: `${aDigest(digest)}${aDigest(digest + 1).slice(2)}` as const } : {}),
      },
      bars: [{ counter: 'loss/a', unit: 'NATIVE_ASSET', window: always, most: 25 }],
      limits: this.#limits(ask, (ask.isLate ? now - hourMs : now) as EpochMs),
      holds: [
        { counter: 'all', unit: 'NATIVE_ASSET', cost, threshold: 150, plusUsed: ['loss/b'] },
        {
          counter: `pm-${pm}`,
          unit: 'NATIVE_ASSET',
          cost: cost * 2,
          threshold: { account: 0, percent: 33 },
          admitsOneAlone: true,
        },
        { counter: 'live', unit: 'COUNT', cost: 1, threshold: 7 },
      ],
      accounts:
        pm === 0
          ? [
              { contract, need: gwei(cost) },
              { ...wallet, need: gwei(cost * 2) },
            ]
          : [{ contract: anAddress(0xc1), need: gwei(cost) }],
      depositMaxAgeMs: 4 * hourMs,
    });
  }

  /** An hourly count, a daily count and daily amounts, for all users or one. */
  #limits({ pm, sender, cost }: Ask, now: EpochMs): LimitShare[] {
    return this.#thresholds.map(({ threshold, enforce }, i): LimitShare => {
      const cycle = { startMs, durationMs: i === 0 ? hourMs : 24 * hourMs };
      const { index, from, until } = windowAt(cycle, now);
      const subject = i === 1 || i === 3 ? anAddress(sender) : '';
      const amount = i >= 2;
      return {
        counter: `pm-${pm}/${i}/${index}/${subject}`,
        unit: amount ? 'NATIVE_ASSET' : 'COUNT',
        window: { from, until },
        threshold,
        cost: amount ? cost : 1,
        enforce,
      };
    });
  }

  async #each<T>(call: (store: UsageStore) => Promise<T>): Promise<readonly [T, T]> {
    return [await call(this.#store), await call(this.#model)];
  }

  async #both(call: (store: UsageStore) => Promise<void>): Promise<void> {
    await this.#each(call);
  }
}

const anAsk: Ask = {
  pm: 0,
  sender: 0,
  nonce: 0,
  cost: 1,
  digest: 0,
  mode: 'SPONSORED',
  expiresMinutes: 1,
  isLate: false,
  phase: undefined,
};

function fencesAt(generation: number) {
  return fenceIds.map((id) => ({ id, generation: id.startsWith('contract') ? 0 : generation }));
}

/** An answer, or the reason of an outage. */
async function answered<T>(answer: Promise<T>): Promise<T | string> {
  return answer.catch((error: unknown) => {
    if (error instanceof DomainError) return `${error.code} ${error.details.reason ?? ''}`;
    throw error;
  });
}

/** What a peek must say: everything when it would be reserved, the refusal alone otherwise. */
function verdictOf(answer: PeekResult | string): unknown {
  if (typeof answer === 'string') return answer;
  const { result, limits, holds } = answer;
  return result.outcome === 'reserved' ? { result, limits, holds } : result;
}

function operationOf({ key }: Pick<Reservation, 'key'>): string {
  return `${key.paymasterId}/${key.sender}/${key.nonce}`;
}

/** A reservation as a step answers it when it ends; none when nothing was signed. */
function withoutCommit({ commit, ...one }: AsWas): readonly Reservation[] {
  if (commit === undefined) return [one];
  return commit.signed === undefined ? [] : [{ ...one, ...commit.signed }];
}

function byName<T extends AccountId>(list: readonly T[]): readonly T[] {
  const name = ({ contract: of, fundingAddress }: AccountId) => `${of}/${fundingAddress ?? ''}`;
  return list.toSorted((a, b) => (name(a) < name(b) ? -1 : 1));
}
