import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createPace } from '../../adapters/pace.js';
import { aPaymaster, aPolicy, aSmartContract } from '../build/resources.js';
import { holdsOf } from '../support/loop-holds.js';
import { startWorld, type World } from './world.js';

// Where operator and server are one process, what the operator does for one tenant must not keep the others waiting.

/** Worlds keep the pace of virtual time otherwise. */
const realPace = () => ({ pace: createPace() });
let world: World;
beforeEach(async () => {
  world = await startWorld({ deps: realPace() });
});
afterEach(() => world.close());

const abiLength = 190_000;

/** An ABI with thousands of methods, which no other contract has. */
function abiOf(seed: string): string {
  const entries: string[] = [];
  for (let length = 0; length < abiLength; length += entries.at(-1)!.length + 1)
    entries.push(JSON.stringify({ name: `m${seed}_${entries.length}`, inputs: [{ type: 'address' }] }));
  return `[${entries.join(',')}]`;
}

test('reading forty ABIs of 190 kB takes turns with everything else', async () => {
  const contracts = 40;
  await world.operator.stop();
  for (let index = 0; index < contracts; index += 1)
    await world.apply(
      aSmartContract({
        meta: { name: `c${index}` },
        name: `C${index}`,
        address: `0x${(index + 1).toString(16).padStart(40, '0')}`,
        abi: abiOf(String(index)),
        whitelistedMethods: [`m${index}_0`],
      }),
    );
  // A new operator knows none of them.
  world.operator = world.create(realPace());
  await world.operator.start();
  const { longestMs, allMs } = await holdsOf(async () => {
    await world.apply(aPaymaster());
    await world.until(
      'all are served',
      async () => (await world.config('shop'))?.contracts.length === contracts,
    );
  });
  expect(longestMs).toBeLessThan(allMs / 10);
});

test('one of 2,500 policies that changes takes turns with everything else', async () => {
  await world.apply(aPaymaster());
  const policy = (index: number, active = true) =>
    aPolicy({ meta: { name: `p${index}` }, name: `P${index}`, active });
  for (let index = 0; index < 2_500; index += 1) await world.apply(policy(index));
  await world.settle();
  let longest = 0;
  let all = 0;
  // Several changes: one hold alone may be a collection of garbage.
  for (let round = 0; round < 8; round += 1) {
    const { longestMs, allMs } = await holdsOf(async () => {
      await world.apply(policy(0, round % 2 === 0));
      await world.settle();
    });
    longest += longestMs;
    all += allMs;
  }
  // About 0.4 of it; 0.85 and more when nothing takes turns.
  expect(longest / all).toBeLessThan(0.65);
});
