import { afterEach, beforeEach, expect } from '@jest/globals';
import type { KeptTexts } from '../../../core/usage/kept-texts.js';
import type { Cursor, FollowerStep } from '../../../core/usage/follower-step.js';
import type { AccountId } from '../../../core/usage/reservation.js';
import type { LimitShare, ReserveRequest } from '../../../core/usage/reserve-request.js';
import type { UsageStore } from '../../../core/usage/usage-store.js';
import type { EpochMs } from '../../../core/units/time.js';
import { gwei } from '../../../core/units/wei.js';
import type { WrittenRecord } from '../step-records.js';
import { aHash, chainId, contract, seconds } from '../usage-requests.js';

/** The store under test: the port, kept texts, and the follower's recovery of lost data. */
export type TestedStore = UsageStore &
  KeptTexts & {
    readonly recovery: { recover(chainId: number): Promise<'intact' | 'waiting' | 'recovered'> };
  };

/**
 * Driver of an implementation: one store over separate data, its clock at `startMs` of usage-requests.ts and moved by
 * hand. `reopen`, `wipe` and `putCopyBack` replace the process (the copy of the epoch stays where it is) and answer the new store.
 */
export type UsageHarness = {
  readonly store: TestedStore;
  readonly clock: { now(): EpochMs; advance(ms: number): void };
  /** Opens the same data again after an orderly stop. */
  reopen(): Promise<TestedStore>;
  /** Opens a store over an empty place. */
  wipe(): Promise<TestedStore>;
  /** Resolves when the epoch's copy knows everything that the store has acknowledged. */
  mirrored(): Promise<void>;
  /** Takes a backup of the data; not of the epoch's copy. */
  takeCopy(): Promise<void>;
  /** Opens the data as they were at `takeCopy`. */
  putCopyBack(): Promise<TestedStore>;
  /** The same while the store is running, where that is possible. */
  readonly putCopyBackUnderneath?: () => Promise<void>;
  /** Records that were written since the last call, in the order of their ids. */
  readonly takeRecords: () => Promise<readonly WrittenRecord[]>;
  stop(): Promise<void>;
};

export type Suite = ReturnType<typeof aSuite>;

export const reserved = { outcome: 'reserved' };
export const unavailable = { code: 'UNAVAILABLE' };
export const depositUnknown = { code: 'UNAVAILABLE', details: { reason: 'DEPOSIT_UNKNOWN' } };
export const lost = { code: 'UNAVAILABLE', details: { reason: 'USAGE_STORE_LOST' } };

/** A new store for each test of the current `describe`, and the actions that most tests use. */
export function aSuite(create: () => Promise<UsageHarness>) {
  let harness: UsageHarness;
  let store: TestedStore;
  let cursor: Cursor | undefined;

  beforeEach(async () => {
    harness = await create();
    store = harness.store;
    cursor = undefined;
  });
  afterEach(() => harness.stop());

  const suite = {
    get store(): TestedStore {
      return store;
    },
    get clock() {
      return harness.clock;
    },
    get harness(): UsageHarness {
      return harness;
    },
    /** The test goes on with the next store of the driver. */
    async replaced(by: 'reopen' | 'wipe' | 'putCopyBack'): Promise<void> {
      store = await harness[by]();
    },
    /** One step of the follower, from the cursor where the last one ended. */
    async advance(step: Partial<FollowerStep> = {}): Promise<void> {
      const whole = suite.step(step);
      expect(await store.advance(whole)).toMatchObject({ isTaken: true });
      cursor = whole.next;
    },
    step(change: Partial<FollowerStep> = {}): FollowerStep {
      const blockNumber = (cursor?.blockNumber ?? 0) + 1;
      return {
        chainId,
        expected: cursor,
        next: { blockNumber, blockHash: aHash(blockNumber), timestamp: seconds(blockNumber) },
        settled: [],
        released: [],
        forfeited: [],
        charges: [],
        restored: [],
        balances: [],
        ...change,
      };
    },
    /** The balance of an account, read now. */
    async deposit(balance: number, account: Partial<AccountId> = {}): Promise<void> {
      const read = { contract, ...account, balance: gwei(balance), readAt: harness.clock.now() };
      await suite.advance({ balances: [read] });
    },
    /** Reserves operations of different nonces one after the other and answers how many passed. */
    async passed(count: number, request: (nonce: bigint) => ReserveRequest): Promise<number> {
      let passed = 0;
      for (let nonce = 0n; nonce < count; nonce++)
        if ((await store.reserve(request(nonce))).outcome === 'reserved') passed += 1;
      return passed;
    },
    /** Used and reserved of each counter. */
    async stands(...counters: readonly Pick<LimitShare, 'counter' | 'unit'>[]) {
      const states = await store.counters(
        chainId,
        counters.map(({ counter, unit }) => ({ counter, unit })),
      );
      return states.map(({ used, reserved: held }) => [used, held] as const);
    },
  };
  return suite;
}
