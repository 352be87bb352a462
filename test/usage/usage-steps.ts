import { expect } from '@jest/globals';
import fc from 'fast-check';
import type { Cursor, LimitShare, ReserveRequest, UsageStore } from '../../core/policy/usage-store.js';
import type { EpochMs } from '../../core/units/time.js';
import { gwei } from '../../core/units/wei.js';
import {
  aHash,
  aLimit,
  anAddress,
  aNeed,
  aRequest,
  chainId,
  contract,
  funding,
  hourMs,
  seconds,
} from '../conformance/usage-requests.js';
import type { aClock } from './sqlite-usage.js';
import { counterName, operationName, summary, UsageModel } from './usage-model.js';

/** A store that can be restarted, and whose process (or server) can be killed; both give what is there afterwards. */
export type Subject = {
  readonly store: UsageStore;
  readonly clock: ReturnType<typeof aClock>;
  restart(): Promise<UsageStore>;
  crash(): Promise<UsageStore>;
  /** While it is on, commits fail. Without it such steps are left out. */
  fail?(isOn: boolean): void;
  stop(): Promise<void>;
};

type Ask = { readonly pm: 0 | 1; readonly sender: number; readonly nonce: number; readonly cost: number };
export type Step =
  | { readonly do: 'ask'; readonly asks: readonly Ask[]; readonly isStale: boolean }
  | { readonly do: 'fail'; readonly asks: readonly Ask[] }
  | { readonly do: 'update'; readonly policy: number; readonly threshold: number }
  | { readonly do: 'pause'; readonly policy: number }
  | { readonly do: 'clock'; readonly minutes: number }
  | { readonly do: 'settle' | 'release'; readonly pick: number; readonly share: number }
  | { readonly do: 'balance'; readonly own: number; readonly funding: number }
  | { readonly do: 'restart' | 'crash' };

const ask: fc.Arbitrary<Ask> = fc.record({
  pm: fc.constantFrom(0, 1),
  sender: fc.nat(2),
  nonce: fc.nat(3),
  cost: fc.integer({ min: 1, max: 60 }),
});
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('ask'),
      asks: fc.array(ask, { minLength: 1, maxLength: 6 }),
      isStale: fc.constant(false),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('ask'),
      asks: fc.array(ask, { minLength: 1, maxLength: 1 }),
      isStale: fc.constant(true),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('update'), policy: fc.nat(3), threshold: fc.nat(120) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('pause'), policy: fc.nat(3) }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('clock'), minutes: fc.integer({ min: -9, max: 100 }) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constantFrom('settle', 'release'), pick: fc.nat(20), share: fc.nat(100) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('balance'), own: fc.nat(400), funding: fc.nat(300) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('restart', 'crash') }) },
);

/** What may happen to a usage store, in any order. */
export const manySteps: fc.Arbitrary<Step[]> = fc.array(step, { minLength: 5, maxLength: 45 });

/** Limits of every kind, over both paymasters; `index` picks the policy. */
type Policy = { start: number; threshold: number; isPaused: boolean };

/** Takes the steps on the store and on the model side by side, and compares everything after each. Stops the store. */
export async function checkAgainstModel(steps: readonly Step[], subject: Subject): Promise<void> {
  const { clock } = subject;
  const start = clock.now();
  let newest: number = start;
  let { store } = subject;
  let cursor: Cursor | undefined;
  const model = new UsageModel();
  const policies: Policy[] = [30, 4, 200, 90].map((threshold) => ({ start, threshold, isPaused: false }));
  let generation = 1;

  /** The follower's step: everything at once, on the store and on the model. */
  async function advance(change: {
    readonly settle?: string;
    readonly release?: string;
    readonly share?: number;
  }) {
    const found = model.promised.get(change.settle ?? change.release ?? '');
    const cost = Math.floor((maxCost(found?.costs) * (change.share ?? 0)) / 100);
    const blockNumber = (cursor?.blockNumber ?? 0) + 1;
    const next = { blockNumber, blockHash: aHash(blockNumber), timestamp: seconds(blockNumber) };
    const isTaken = await store.advance({
      chainId,
      expected: cursor,
      next,
      settled:
        change.settle === undefined || found === undefined
          ? []
          : [{ key: found.request.key, actualCost: gwei(cost) }],
      released:
        change.release === undefined || found === undefined
          ? []
          : [{ key: found.request.key, validUntil: seconds(999_999) }],
      balances: [
        { contract, balance: gwei(model.balances.get('own') ?? 0), readAt: clock.now() },
        {
          contract,
          fundingAddress: funding,
          balance: gwei(model.balances.get(funding) ?? 0),
          readAt: clock.now(),
        },
      ],
    });
    expect(isTaken).toBe(true);
    cursor = next;
    if (change.settle !== undefined) model.settle(change.settle, cost);
    if (change.release !== undefined) model.promised.delete(change.release);
  }

  function requestOf({ pm, sender, nonce, cost }: Ask, isStale: boolean): ReserveRequest {
    const from = anAddress(sender);
    const limits = policies.flatMap(({ start: startMs, threshold, isPaused }, i): LimitShare[] =>
      isPaused
        ? []
        : [
            aLimit({
              policyId: `pm-${pm}/${i}`,
              startMs: startMs as EpochMs,
              durationMs: i === 0 ? hourMs : 24 * hourMs,
              threshold,
              subject: i === 1 || i === 3 ? from : '',
              ...(i >= 2 ? { unit: 'NATIVE_ASSET', cost } : {}),
            }),
          ],
    );
    return aRequest({
      key: { paymasterId: `pm-${pm}`, sender: from, nonce: BigInt(nonce) << 200n },
      configGeneration: isStale ? generation - 1 : generation,
      limits,
      accounts: [aNeed(cost), ...(pm === 0 ? [aNeed(cost * 2, { fundingAddress: funding })] : [])],
      validUntil: seconds(cost * 7),
      depositMaxAgeMs: Number.MAX_SAFE_INTEGER,
    });
  }

  try {
    model.balances.set('own', 300).set(funding, 200);
    await advance({});
    for (const now of steps) {
      switch (now.do) {
        case 'ask': {
          // Without waiting in between: most share a turn of the event loop, and so a commit.
          const requests = now.asks.map((one) => requestOf(one, now.isStale));
          const answers = await Promise.all(requests.map((request) => store.reserve(request)));
          const expected = requests.map((request) => model.reserve(request, clock.now()));
          expect(answers.map(({ outcome }) => outcome)).toEqual(expected);
          // The newest generation is durable with the next commit. Refusals commit nothing: until then a restart may
          // forget what only they have shown, and the replica that restarts has read its configs again anyway.
          if (!answers.some(({ outcome }) => outcome === 'reserved')) await advance({});
          break;
        }
        case 'fail': {
          if (subject.fail === undefined) break;
          const requests = now.asks.map((one) => requestOf(one, false));
          subject.fail(true);
          const answers = await Promise.allSettled(requests.map((request) => store.reserve(request)));
          subject.fail(false);
          for (const request of requests) model.see(request);
          // What the store has seen is durable with its next commit, whatever that is about.
          await advance({});
          expect(
            answers.filter((one) => one.status === 'fulfilled' && one.value.outcome === 'reserved'),
          ).toEqual([]);
          break;
        }
        case 'update':
          policies[now.policy] = { ...policies[now.policy]!, start: clock.now(), threshold: now.threshold };
          generation += 1;
          break;
        case 'pause':
          policies[now.policy] = { ...policies[now.policy]!, isPaused: !policies[now.policy]!.isPaused };
          generation += 1;
          break;
        case 'clock': {
          // Back by less than the store promises to bear.
          const to = Math.max(clock.now() + now.minutes * 60_000, newest - 540_000);
          clock.advance(to - clock.now());
          newest = Math.max(newest, to);
          break;
        }
        case 'settle':
        case 'release': {
          const live = [...model.promised.keys()];
          const picked = live[now.pick % Math.max(1, live.length)];
          if (picked !== undefined) await advance({ [now.do]: picked, share: now.share });
          break;
        }
        case 'balance':
          model.balances.set('own', now.own).set(funding, now.funding);
          await advance({});
          break;
        case 'restart':
          store = await subject.restart();
          break;
        case 'crash':
          store = await subject.crash();
          break;
      }
      const reservations = await store.reservations(chainId);
      expect(reservations.map(summary).toSorted()).toEqual(model.summaries());
    }
    // What is used by now, to the unit, for a user that has asked for nothing yet and for each that has.
    for (const pm of [0, 1] as const)
      for (const sender of [0, 1, 2, 9]) {
        const request = requestOf({ pm, sender, nonce: 99, cost: 1 }, false);
        const { limits } = await store.peek(request);
        const expected = request.limits.map((limit) =>
          model.used(counterName(limit, clock.now()), operationName(request)),
        );
        expect(limits.map(({ used }) => used)).toEqual(expected);
      }
  } finally {
    await subject.stop();
  }
}

function maxCost(costs: ReadonlyMap<string, number> | undefined): number {
  return Math.max(
    0,
    ...Array.from(costs ?? [], ([counter, cost]) => (counter.startsWith('COUNT') ? 0 : cost)),
  );
}
