import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { EpochSeconds } from '../../core/units/time.js';
import { toMs } from '../../core/units/time.js';
import { startDevChain, type DevChain } from '../chain/support/dev-chain.js';
import { deployOpenZeppelin } from '../chain/support/open-zeppelin.js';
import { campaign } from './campaign.js';
import { contractsOf, pairedChain } from './chain/dev-contracts.js';
import type { PairedChain } from './chain/paired-chain.js';
import { realGround } from './real-ground.js';
import { runAdversary } from './run.js';
import { manySteps } from './steps.js';
import { openInMemory } from './stores.js';
import { campaignTimeoutMs, chainSteps } from './targets.js';
import { contracts, ownWallet, senders } from './world.js';

let dev: DevChain;
let paired: PairedChain;
let begin: number;
beforeAll(async () => {
  dev = await startDevChain();
  const openZeppelin = await deployOpenZeppelin(dev, ['openzeppelin-0.9 with tail']);
  const deployed = contractsOf(dev, [...openZeppelin.values()]);
  // The model has the same contracts without a chain.
  expect(deployed.map(({ address }) => address)).toEqual(expect.arrayContaining(Object.values(contracts)));
  paired = await pairedChain(dev, deployed, senders, [ownWallet]);
  begin = paired.model.height;
});
afterAll(() => dev.stop());

test(
  'on the real EntryPoints: no requests, mined operations, transfers or faults break a rule of money, and the model agrees',
  async () => {
    const { steps } = await campaign('on the real EntryPoints', chainSteps, manySteps, async (chosen) => {
      await paired.reorganise(paired.model.height - begin);
      const from = toMs((paired.model.time + 1) as EpochSeconds);
      return runAdversary(chosen, openInMemory, {}, { from, groundOf: async () => realGround(dev, paired) });
    });
    expect(steps).toBeGreaterThanOrEqual(chainSteps);
  },
  campaignTimeoutMs,
);
