import { expect, test } from '@jest/globals';
import { toAddressKey } from '../../core/units/address.js';
import { runAdversary } from './run.js';
import type { Step } from './steps.js';
import { openInMemory } from './stores.js';

// Found by the campaign, and kept as fixed steps.

test('a commit by a newer config is not taken for one that is over by a replica that has not seen the config yet', async () => {
  const asked = { isBehind: false, isChainBehind: false, isUnsigned: false, isLost: false } as const;
  const steps: readonly Step[] = [
    { do: 'wallet', paymaster: 9, wallet: toAddressKey(`0x${'03'.repeat(20)}`), amount: 1_000 },
    { do: 'pass', seconds: 30, blocks: 5 },
    { do: 'round' },
    {
      do: 'two-phases',
      commits: [
        {
          ...asked,
          paymaster: 11,
          isToken: false,
          inAdvance: true,
          sender: 0,
          key: 2,
          ahead: 0,
          gas: 300_000,
          feeGwei: 2,
          tipGwei: 0.001,
          expirySeconds: 300,
          replica: 1,
          hasFormerKey: false,
          call: 'approve',
        },
      ],
      between: 'nothing',
      waitMs: 1_000,
      finals: [{ ...asked, pick: 0, change: 'nothing', isByAccount: true, replica: 0, isBehind: true }],
      simulationMs: 0,
    },
  ];
  const { seen } = await runAdversary(steps, openInMemory);
  expect(seen.get('SPONSORED commit passed')).toBe(1);
  // The replica asks for the config again, which this model does not give it.
  expect([...seen.keys()].filter((name) => name.startsWith('SPONSORED finalize'))).toEqual([]);
});
