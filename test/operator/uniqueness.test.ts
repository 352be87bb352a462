import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { aPaymaster, aPolicy, aSmartContract } from '../build/resources.js';
import type { AnyResource } from '../../core/resources/kinds.js';
import { conditionOf, startWorld } from './world.js';
import type { World } from './world.js';
import { runs } from '../support/property.js';
import { turn } from './virtual-time.js';

/** Objects that contend: three paymasters for a name, three contracts for an address, three policies for a name. */
const contenders: readonly AnyResource[] = ['x', 'y', 'z'].flatMap((letter) => [
  aPaymaster({ meta: { name: letter }, name: 'Same' }),
  aSmartContract({ meta: { name: `c${letter}` }, name: letter, paymasterRef: { name: 'shop' } }),
  aPolicy({ meta: { name: `p${letter}` }, name: 'Same', paymasterRef: { name: 'shop' } }),
]);

type Step = { readonly index: number; readonly do: 'apply' | 'remove' | 'restart' | 'wait' };
const history = fc.array(
  fc.record<Step>({
    index: fc.nat(contenders.length - 1),
    do: fc.constantFrom('apply', 'apply', 'apply', 'remove', 'restart', 'wait'),
  }),
  { maxLength: 30 },
);

test('of objects that contend for a name exactly one has it, in every history, and the holder never loses it', async () => {
  await fc.assert(
    fc.asyncProperty(history, async (steps) => {
      const world = await startWorld();
      try {
        await world.apply(aPaymaster());
        for (const step of steps) {
          await play(world, step);
          if (step.do === 'wait') await expectOneHolderEach(world);
        }
        await world.settle();
        const holders = await expectOneHolderEach(world);
        // A newcomer does not take a name from its holder.
        for (const object of contenders) await world.apply(object);
        await world.settle();
        expect(await expectOneHolderEach(world)).toEqual(expect.arrayContaining([...holders]));
      } finally {
        await world.close();
      }
    }),
    {
      ...runs(20),
      // The second one comes while the first one is compiled.
      examples: [
        [
          [
            { index: 0, do: 'wait' },
            { index: 3, do: 'apply' },
            { index: 0, do: 'apply' },
          ],
        ],
      ],
    },
  );
});

async function play(world: World, { index, do: what }: Step): Promise<void> {
  const object = contenders[index];
  if (object === undefined) return;
  if (what === 'apply') await world.apply(object);
  if (what === 'remove' && (await find(world, object)) !== undefined)
    await world.remove(object.kind, object.metadata.name);
  if (what === 'restart') await world.restart();
  if (what === 'wait') await world.settle();
  await turn();
}

async function find(world: World, { kind, metadata }: AnyResource): Promise<AnyResource | undefined> {
  return world.resources.get(kind, { namespace: 'acme', name: metadata.name });
}

/** Names of the holders; fails unless each kind that is present has exactly one, and only it is served. */
async function expectOneHolderEach(world: World): Promise<readonly string[]> {
  const present = await Promise.all(contenders.map((object) => find(world, object)));
  const holders: string[] = [];
  for (const kind of ['Paymaster', 'SmartContract', 'PaymasterPolicy'] as const) {
    const rivals = present.filter((object) => object?.kind === kind);
    const accepted = rivals.filter((object) => object && conditionOf(object, 'Accepted') === 'True/Accepted');
    expect(accepted).toHaveLength(Math.min(1, rivals.length));
    holders.push(...accepted.flatMap((object) => (object === undefined ? [] : [object.metadata.name])));
  }
  const configs = (await world.configs.listPaymasters()).map(({ config }) => config);
  const serving = configs.filter((config) => config.name === 'Same' && config.notReady === undefined);
  expect(serving.every(({ objectName }) => holders.includes(objectName))).toBe(true);
  const shop = configs.find(({ objectName }) => objectName === 'shop');
  expect(shop?.contracts.length ?? 0).toBeLessThanOrEqual(1);
  return holders;
}
