import { afterEach, expect, test } from '@jest/globals';
import type { DataFeeSpec } from '../../core/chain/data-fee/spec.js';
import { findCondition } from '../../core/meta/conditions.js';
import { aChain } from '../build/resources.js';
import { conditionOf, startWorld, type World } from './world.js';

let world: World;
afterEach(() => world.close());

const chain = () => world.get('Chain', aChain().metadata.name);
const becomes = (want: string) =>
  world.until(`DataFeeUsable is ${want}`, async () => conditionOf(await chain(), 'DataFeeUsable') === want);
const charge = (dataFee: DataFeeSpec) => world.apply(aChain({ dataFee }));

test('a Chain shows whether its data fee can be read, and stays ready', async () => {
  world = await startWorld();
  world.chain.l1BaseFee = 1_000_000_000n;
  await charge({ kind: 'Arbitrum' });
  await becomes('True/Usable');

  world.chain.l1BaseFee = undefined;
  await becomes('False/Unsupported');
  expect(findCondition((await chain()).status?.conditions, 'DataFeeUsable')?.message).toBe(
    'NodeInterface 0x00000000000000000000000000000000000000C8 does not answer gasEstimateL1Component: the node is not one of Arbitrum.',
  );
  expect(conditionOf(await chain(), 'Ready')).toBe('True/Ready');

  world.chain.l1BaseFee = 3_000_000_000n;
  await becomes('True/Usable');
  world.chain.isReachable = false;
  await becomes('False/Unreachable');
});

test('a Chain whose data fee is not read from the chain has no such condition', async () => {
  world = await startWorld();
  await charge({ kind: 'Arbitrum' });
  await becomes('False/Unsupported');
  await charge({ kind: 'Factor', factor: '2' });
  await becomes('absent');
});
