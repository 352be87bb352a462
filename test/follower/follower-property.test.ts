import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { anAddress, chainId, contract, entryPoint, funding, seconds } from '../conformance/usage-requests.js';
import { depositOf, walletOf } from '../fakes/chain.js';
import { aChainConfig, aFollowed, anOperation, aPromise, gweiInWei } from './followed.js';

type Step =
  | { readonly do: 'promise'; readonly sender: number; readonly nonce: number; readonly cost: number }
  | { readonly do: 'mine'; readonly pick: number; readonly share: number }
  | { readonly do: 'pass'; readonly blocks: number; readonly seconds: number }
  | { readonly do: 'reorganise'; readonly depth: number }
  | { readonly do: 'deposit'; readonly amount: number }
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
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('deposit'), amount: fc.integer({ min: 1, max: 400 }) }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('round') }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('restart') }) },
);

type Promised = { readonly sender: number; readonly nonce: number; cost: number; validUntil: number };

test('whatever is mined, taken back or left to expire, every live promise can be paid and every mined cost counts once', async () => {
  await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), fc.nat(3), run), {
    numRuns: 60,
  });
}, 60_000);

async function run(steps: readonly Step[], confirmations: number): Promise<void> {
  const it = await aFollowed(aChainConfig({ confirmations }));
  let follower = it.follower;
  /** Everything that a signature was given for, and which may be mined until it expires or its nonce is used. */
  const promises = new Map<string, Promised>();
  /** By operation: block in which it is mined on the present branch, and its cost in gwei. */
  const mined = new Map<string, { readonly block: number; readonly cost: number }>();
  /** Block and wei of each deposit on the present branch. */
  const deposits: (readonly [number, bigint])[] = [];

  const mayBeMined = (): readonly (readonly [string, Promised])[] =>
    [...promises].filter(([id, { validUntil }]) => !mined.has(id) && validUntil > it.chain.time);

  /** Whatever may still be mined must be covered by what the accounts hold at the head. */
  function checkSolvency(): void {
    const needs = mayBeMined().reduce((sum, [, { cost }]) => sum + cost, 0);
    const state = it.chain.stateAt();
    for (const account of [depositOf(entryPoint, contract), walletOf(contract, funding)])
      expect(state.get(account)! >= BigInt(needs) * gweiInWei).toBe(true);
  }

  try {
    await follower.round();
    for (const now of steps) {
      switch (now.do) {
        case 'promise': {
          const id = `${now.sender}/${now.nonce}`;
          const validUntil = it.chain.time + 300;
          const answer = await it.usage.reserve(
            aPromise(now.cost, {
              key: { sender: anAddress(now.sender + 1), nonce: BigInt(now.nonce) },
              validUntil: seconds(validUntil - seconds(0)),
            }),
          );
          if (answer.outcome !== 'reserved') break;
          const held = promises.get(id);
          promises.set(id, { ...now, cost: Math.max(now.cost, held?.cost ?? 0), validUntil });
          break;
        }
        case 'mine': {
          const live = mayBeMined();
          const [id, promised] = live[now.pick % Math.max(1, live.length)] ?? [];
          if (id === undefined || promised === undefined) break;
          const cost = Math.floor((promised.cost * now.share) / 100);
          const operation = anOperation(cost, {
            sender: anAddress(promised.sender + 1),
            nonce: BigInt(promised.nonce),
          });
          const block = it.chain.mine({ operations: [operation], time: it.chain.time + 1 });
          mined.set(id, { block: block.number, cost });
          break;
        }
        case 'pass':
          for (let i = 0; i < now.blocks; i++) it.chain.mine({ time: it.chain.time + 1 + now.seconds });
          break;
        case 'reorganise': {
          // At most as deep as the confirmations allow: what is settled stands.
          const settled = (await it.usage.cursor(chainId))?.blockNumber ?? 0;
          const to = Math.max(settled, it.chain.height - now.depth);
          if (to >= it.chain.height) break;
          const time = it.chain.time;
          // Deposits that were taken back would be a loss that no bookkeeping can prevent.
          const lost = [depositOf(entryPoint, contract), walletOf(contract, funding)].map(
            (account) => [account, deposits.reduce((sum, [b, a]) => (b > to ? sum + a : sum), 0n)] as const,
          );
          it.chain.reorganise(to);
          for (const [id, { block }] of mined) if (block > to) mined.delete(id);
          for (let i = deposits.length - 1; i >= 0; i--) if (deposits[i]![0] > to) deposits.splice(i, 1);
          const again = it.chain.mine({ transfers: lost, time: time + 1 });
          if (lost[0]![1] > 0n) deposits.push([again.number, lost[0]![1]]);
          break;
        }
        case 'deposit': {
          const amount = BigInt(now.amount) * gweiInWei;
          const { number } = it.chain.mine({
            transfers: [
              [depositOf(entryPoint, contract), amount],
              [walletOf(contract, funding), amount],
            ],
            time: it.chain.time + 1,
          });
          deposits.push([number, amount]);
          break;
        }
        case 'round':
          await follower.round();
          break;
        case 'restart':
          follower = it.create();
          break;
      }
      checkSolvency();
    }
    // Let everything be confirmed and expire: then each counter holds what was mined, and nothing is promised.
    it.chain.mine({ time: it.chain.time + 1_000 });
    for (let i = 0; i < confirmations; i++) it.chain.mine({ time: it.chain.time + 1 });
    await follower.round();
    expect(await it.usage.reservations(chainId)).toEqual([]);
    const { limits } = await it.usage.peek(aPromise(1, { key: { nonce: 999n }, accounts: [] }));
    const costs = [...mined.values()].reduce((sum, { cost }) => sum + cost, 0);
    expect(limits.map(({ used }) => used)).toEqual([mined.size, costs]);
  } finally {
    await it.stop();
  }
}
