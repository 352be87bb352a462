import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Hex } from '../../../core/units/hex.js';
import {
  anAddress,
  chainId,
  contract,
  entryPoint,
  funding,
  seconds,
} from '../../conformance/usage-requests.js';
import { depositOf, walletOf } from '../../fakes/chain.js';
import { runs } from '../../support/property.js';
import {
  aChainConfig,
  aFollowed,
  anOperation,
  aPromise,
  gweiInWei,
  signedBytes,
  usedOf,
} from './followed.js';

type Step =
  | { readonly do: 'promise'; readonly sender: number; readonly nonce: number; readonly cost: number }
  | { readonly do: 'mine'; readonly pick: number; readonly share: number }
  | { readonly do: 'pass'; readonly blocks: number; readonly seconds: number }
  | { readonly do: 'reorganise'; readonly depth: number }
  | { readonly do: 'deposit' | 'withdraw'; readonly amount: number }
  | { readonly do: 'round' | 'restart' };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('promise'),
      sender: fc.nat(3),
      nonce: fc.nat(4),
      cost: fc.integer({ min: 1, max: 300 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('mine'), pick: fc.nat(20), share: fc.nat(100) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('pass'), blocks: fc.nat(3), seconds: fc.nat(400) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('reorganise'), depth: fc.integer({ min: 1, max: 4 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom('deposit', 'withdraw'),
      amount: fc.integer({ min: 1, max: 900 }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('round') }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('restart') }) },
);

const accounts = [depositOf(entryPoint, contract), walletOf(contract, funding)];

/** One signature that was given: the operation may cost this much until it expires. */
type Promised = {
  readonly sender: number;
  readonly nonce: number;
  readonly cost: number;
  readonly validUntil: number;
  readonly input: Hex;
};

test('under all mining, reorganisations and expiries, every live promise can be paid and every mined cost counts once', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 15, maxLength: 50 }), fc.constantFrom(0, 1, 2, 3), run),
    runs(60, 120),
  );
});

async function run(steps: readonly Step[], confirmations: number): Promise<void> {
  const it = await aFollowed(aChainConfig({ confirmations }));
  let follower = it.follower;
  /** All operations with a signature; each may be mined until it expires or its nonce is used. */
  const promises: Promised[] = [];
  /** By operation: the block in which it is mined on the current branch, and its cost in gwei. */
  const mined = new Map<string, { readonly block: number; readonly cost: number }>();
  /** Block and wei of each deposit on the current branch. */
  const deposits: (readonly [number, bigint])[] = [];
  let seenHeight = it.chain.height;

  /** The most expensive signature of each operation that is neither mined nor expired on the current branch. */
  const mayBeMined = (): readonly Promised[] => {
    const live = promises.filter((one) => !mined.has(operationOf(one)) && one.validUntil > it.chain.time);
    const dearest = new Map<string, Promised>();
    for (const one of live)
      if (one.cost > (dearest.get(operationOf(one))?.cost ?? -1)) dearest.set(operationOf(one), one);
    return [...dearest.values()];
  };

  /** Gwei that remain in an account at the head if everything that may still be mined is mined. */
  function free(account: string): number {
    const needs = mayBeMined().reduce((sum, { cost }) => sum + cost, 0);
    return Number((it.chain.stateAt().get(account) ?? 0n) / gweiInWei) - needs;
  }

  async function round(): Promise<void> {
    seenHeight = Math.max(seenHeight, it.chain.height);
    await follower.round();
  }

  try {
    await round();
    for (const now of steps) {
      switch (now.do) {
        case 'promise': {
          const validUntil = it.chain.time + 300;
          const account = anAddress(now.sender + 1);
          const bytes = signedBytes('SPONSORED', promises.length, { nonce: nonceOf(now), account });
          const answer = await it.usage.reserve(
            aPromise(now.cost, {
              key: { sender: anAddress(now.sender + 1), nonce: nonceOf(now) },
              promise: { digest: bytes.digest, validUntil: seconds(validUntil - seconds(0)) },
            }),
          );
          if (answer.outcome === 'reserved') promises.push({ ...now, validUntil, input: bytes.input });
          break;
        }
        case 'mine': {
          const live = mayBeMined();
          const promised = live[now.pick % Math.max(1, live.length)];
          if (promised === undefined) break;
          const cost = Math.floor((promised.cost * now.share) / 100);
          const operation = anOperation(cost, {
            sender: anAddress(promised.sender + 1),
            nonce: nonceOf(promised),
            input: promised.input,
          });
          const block = it.chain.mine({ operations: [operation], time: it.chain.time + 1 });
          mined.set(operationOf(promised), { block: block.number, cost });
          break;
        }
        case 'pass':
          for (let i = 0; i < now.blocks; i++) it.chain.mine({ time: it.chain.time + 1 + now.seconds });
          break;
        case 'reorganise': {
          // At most as deep as the confirmations allow, counted from the highest block that a follower has seen.
          const to = Math.max(seenHeight - confirmations, it.chain.height - now.depth);
          if (to >= it.chain.height) break;
          // Removing deposits would cause a loss that no bookkeeping can prevent.
          const lost = accounts.map(
            (account) => [account, deposits.reduce((sum, [b, a]) => (b > to ? sum + a : sum), 0n)] as const,
          );
          it.chain.reorganise(to);
          for (const [id, { block }] of mined) if (block > to) mined.delete(id);
          for (let i = deposits.length - 1; i >= 0; i--) if (deposits[i]![0] > to) deposits.splice(i, 1);
          const parent = await it.chain.block('latest');
          const again = it.chain.mine({ transfers: lost, time: (parent?.timestamp ?? 0) + 1 });
          if (lost[0]![1] > 0n) deposits.push([again.number, lost[0]![1]]);
          break;
        }
        case 'deposit': {
          const amount = BigInt(now.amount) * gweiInWei;
          const { number } = it.chain.mine({
            transfers: accounts.map((account) => [account, amount] as const),
            time: it.chain.time + 1,
          });
          deposits.push([number, amount]);
          break;
        }
        case 'withdraw': {
          // The owner withdraws the unpromised part; the store learns this before it promises more.
          const amount = Math.min(now.amount, ...accounts.map(free));
          if (amount < 1) break;
          const transfers = accounts.map((account) => [account, -BigInt(amount) * gweiInWei] as const);
          it.chain.mine({ transfers, time: it.chain.time + 1 });
          await round();
          break;
        }
        case 'round':
          await round();
          break;
        case 'restart':
          follower = it.create();
          break;
      }
      for (const account of accounts) expect(free(account)).toBeGreaterThanOrEqual(0);
    }
    // Lets everything be confirmed and expire: then each counter holds the mined costs, and nothing is promised.
    const last = Math.max(it.chain.time, ...promises.map(({ validUntil }) => validUntil));
    it.chain.mine({ time: last + 1 });
    for (let i = 0; i < confirmations; i++) it.chain.mine({ time: it.chain.time + 1 });
    while (!(await follower.round()).isComplete);
    expect(await it.usage.reservations(chainId)).toEqual([]);
    const costs = [...mined.values()].reduce((sum, { cost }) => sum + cost, 0);
    expect(await usedOf(it)).toEqual([mined.size, costs]);
    expect(await it.usage.suspended(chainId)).toEqual([]);
  } finally {
    await it.stop();
  }
}

/** Each operation has its own nonce key: accounts may use them in any order. */
function nonceOf({ nonce }: Pick<Promised, 'nonce'>): bigint {
  return BigInt(nonce) << 64n;
}

function operationOf({ sender, nonce }: Promised): string {
  return `${sender}/${nonce}`;
}
