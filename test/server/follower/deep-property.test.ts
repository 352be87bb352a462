import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { paidGasInTokens } from '../../../core/paymaster/token-charge.js';
import type { Mode } from '../../../core/usage/reservation.js';
import type { Hex } from '../../../core/units/hex.js';
import { aNeed, chainId, seconds } from '../../conformance/usage-requests.js';
import { runs } from '../../support/property.js';
import { aChainConfig, aFollowed, anOperation, aPromise, lossesOf, signedBytes, usedOf } from './followed.js';

// Promises of both modes for few nonces, mined in any order, paid or not, reorganised to any depth, behind a node that hides logs.

type Step =
  | { readonly do: 'promise'; readonly mode: Mode; readonly nonce: number; readonly cost: number }
  | { readonly do: 'mine'; readonly pick: number; readonly share: number; readonly isPaid: boolean }
  | { readonly do: 'pass'; readonly blocks: number; readonly seconds: number }
  | { readonly do: 'reorganise'; readonly depth: number }
  | { readonly do: 'round' | 'hide' | 'show' };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('promise'),
      mode: fc.constantFrom('SPONSORED', 'ERC20'),
      nonce: fc.nat(3),
      cost: fc.integer({ min: 1, max: 300 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('mine'),
      pick: fc.nat(40),
      share: fc.integer({ min: 1, max: 100 }),
      isPaid: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('pass'), blocks: fc.nat(3), seconds: fc.nat(400) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('reorganise'), depth: fc.integer({ min: 1, max: 8 }) }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('round') }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('hide', 'show') }) },
);

type Promised = {
  readonly mode: Mode;
  readonly nonce: number;
  readonly cost: number;
  readonly validUntil: number;
  readonly input: Hex;
};
type Mined = { readonly block: number; readonly cost: number; readonly mode: Mode; readonly isPaid: boolean };

test('counters finally match the chain for every operation that no node hid for good', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 50 }), fc.nat(2), run),
    runs(60, 150),
  );
});

async function run(steps: readonly Step[], confirmations: number): Promise<void> {
  const it = await aFollowed(aChainConfig({ confirmations }));
  const promises: Promised[] = [];
  const mined = new Map<number, Mined>();
  const settle = async () => {
    while (!(await it.follower.round()).isComplete);
  };
  const sum = (of: readonly Mined[]) => of.reduce((total, { cost }) => total + cost, 0);

  try {
    for (const now of steps) {
      switch (now.do) {
        case 'promise': {
          const validUntil = it.chain.time + 300;
          const bytes = signedBytes(now.mode, promises.length, { nonce: BigInt(now.nonce) << 64n });
          const promise = {
            mode: now.mode,
            digest: bytes.digest,
            validUntil: seconds(validUntil - seconds(0)),
          };
          const key = { nonce: BigInt(now.nonce) << 64n };
          const answer = await it.usage.reserve(
            aPromise(now.cost, { key, promise, accounts: [aNeed(now.cost)] }),
          );
          if (answer.outcome === 'reserved') promises.push({ ...now, validUntil, input: bytes.input });
          break;
        }
        case 'mine': {
          const live = promises.filter(
            ({ nonce, validUntil }) => !mined.has(nonce) && validUntil > it.chain.time,
          );
          const promised = live[now.pick % Math.max(1, live.length)];
          if (promised === undefined) break;
          const { mode, nonce, input } = promised;
          const cost = Math.ceil((promised.cost * now.share) / 100);
          const isPaid = mode === 'ERC20' && now.isPaid;
          const operation = anOperation(cost, {
            nonce: BigInt(nonce) << 64n,
            input,
            ...(isPaid ? { tokenCharge: { topic0: paidGasInTokens.topic0 } } : {}),
          });
          const { number } = it.chain.mine({ operations: [operation], time: it.chain.time + 1 });
          mined.set(nonce, { block: number, cost, mode, isPaid });
          break;
        }
        case 'pass':
          for (let i = 0; i < now.blocks; i++) it.chain.mine({ time: it.chain.time + 1 + now.seconds });
          break;
        case 'reorganise': {
          const to = Math.max(4, it.chain.height - now.depth);
          if (to >= it.chain.height) break;
          it.chain.reorganise(to);
          for (const [nonce, { block }] of mined) if (block > to) mined.delete(nonce);
          const parent = await it.chain.block('latest');
          it.chain.mine({ time: (parent?.timestamp ?? 0) + 1 });
          break;
        }
        case 'round':
          await settle();
          break;
        case 'hide':
          it.chain.hidesLogs = true;
          break;
        case 'show':
          it.chain.hidesLogs = false;
          break;
      }
    }
    it.chain.hidesLogs = false;
    const last = Math.max(it.chain.time, ...promises.map(({ validUntil }) => validUntil));
    it.chain.mine({ time: last + 1 });
    for (let round = 0; round < 6; round++) {
      for (let block = 0; block < 16; block++) it.chain.mine({ time: it.chain.time + 1 });
      await settle();
    }
    expect(await it.usage.reservations(chainId)).toEqual([]);
    const all = [...mined.values()];
    const sponsored = all.filter(({ mode }) => mode === 'SPONSORED');
    const lost = sum(all.filter(({ mode, isPaid }) => mode === 'ERC20' && !isPaid));
    expect(await usedOf(it)).toEqual([sponsored.length, sum(sponsored)]);
    expect(await lossesOf(it)).toEqual([lost, lost]);
    expect(await it.usage.suspended(chainId)).toEqual([]);
  } finally {
    await it.stop();
  }
}
