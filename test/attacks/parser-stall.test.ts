import { afterEach, describe, expect, test } from '@jest/globals';
import type { SmartContract } from '../../core/resources/smart-contract.js';
import { aPaymaster, aSmartContract } from '../build/resources.js';
import { conditionOf, startWorld, type World } from '../operator/world.js';

// A tenant whitelists half a megabyte of signatures that are nothing but parentheses: a parser that is quadratic in nesting
// stops the operator, at every reconcile, for everybody.

let world: World;
afterEach(() => world.close());

const nested = (index: number): string => `f${index}(${'('.repeat(248)}${')'.repeat(248)})`;
const flat = (index: number): string => `f${index}(${'uint256,'.repeat(60)}uint256)`;
const shapes = { nested, flat } as const;

const contractWith = (shape: keyof typeof shapes): SmartContract =>
  aSmartContract({ whitelistedMethods: Array.from({ length: 900 }, (_, index) => shapes[shape](index)) });

/** Milliseconds until the contract of `acme` is judged and a Paymaster that is applied after it is served. */
async function roundWith(shape: keyof typeof shapes): Promise<number> {
  world = await startWorld();
  await world.apply(aPaymaster());
  await world.settle();
  const before = performance.now();
  await world.apply(contractWith(shape), aPaymaster({ meta: { name: 'neighbour' }, name: 'Neighbour' }));
  await world.until('the contract is judged', async () =>
    conditionOf(await world.get('SmartContract', 'shop-nft'), 'Accepted').startsWith('False'),
  );
  await world.until('the neighbour is served', async () => (await world.config('neighbour')) !== undefined);
  return performance.now() - before;
}

describe('signatures that only nest', () => {
  test('cost the operator no more than ordinary ones of the same length', async () => {
    const costs = { nested: Number.POSITIVE_INFINITY, flat: Number.POSITIVE_INFINITY };
    for (let round = 0; round < 3; round += 1)
      for (const shape of ['flat', 'nested'] as const) {
        costs[shape] = Math.min(costs[shape], await roundWith(shape));
        if (round < 2 || shape === 'flat') await world.close();
      }
    // The parser before took 50 times as long; below 3 nothing but noise is left.
    expect(costs.nested / costs.flat).toBeLessThan(3);
  });

  test('are refused by place, and the tenant finds out what is read', async () => {
    world = await startWorld();
    await world.apply(aPaymaster(), contractWith('nested'));
    await world.until('it is judged', async () =>
      conditionOf(await world.get('SmartContract', 'shop-nft'), 'Accepted').startsWith('False'),
    );
    const { status } = await world.get('SmartContract', 'shop-nft');
    expect(status?.conditions?.find(({ type }) => type === 'Accepted')?.message).toContain(
      'spec.whitelistedMethods[0] must be a signature of at most 512 characters with at most 16 levels',
    );
  });

  test('leave honest signatures as they were', async () => {
    world = await startWorld();
    await world.apply(aPaymaster(), aSmartContract({ whitelistedMethods: ['mint(address to, uint n)'] }));
    await world.until('it is served', async () => (await world.config('shop'))?.contracts.length === 1);
    expect((await world.config('shop'))?.contracts[0]?.selectors).toEqual(['0x40c10f19']);
  });
});
