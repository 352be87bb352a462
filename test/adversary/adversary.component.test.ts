import { expect, test } from '@jest/globals';
import { campaign } from './campaign.js';
import { runAdversary } from './run.js';
import { manySteps } from './steps.js';
import { openInFile, openInMemory } from './stores.js';
import { campaignTimeoutMs, modelSteps } from './targets.js';

test.each([
  { where: 'in memory', open: openInMemory, least: modelSteps.inMemory, also: ['ERC20 barred'] },
  {
    where: 'in a file that is killed and restored',
    open: openInFile(),
    least: modelSteps.inFile,
    also: ['kill', 'restore'],
  },
])(
  '$where: no requests, mined operations, transfers or faults break a rule of money',
  async ({ where, open, least, also }) => {
    const { steps, seen } = await campaign(where, least, manySteps, (chosen) => runAdversary(chosen, open));
    expect(steps).toBeGreaterThanOrEqual(least);
    // The runs are meaningful: each of these has happened often.
    const names = [
      'SPONSORED reserved',
      'ERC20 reserved',
      'ERC20 held',
      'SPONSORED limit',
      'SPONSORED held',
      'mined sponsored',
      'mined paid',
      'mined unpaid',
      'settled',
      'released',
      'forfeited',
      'restored',
      'unattributed',
      'SPONSORED suspended',
      'SPONSORED commit passed',
      'SPONSORED finalize passed',
      'SPONSORED finalize COMMIT_NOT_OPEN',
      'SPONSORED finalize ACCOUNT_VALIDATION_FAILED',
      'ERC20 commit passed',
      'ERC20 finalize passed',
      'never finalized',
      'signer failed for a promised nonce',
      'answer of the signer lost',
    ];
    for (const name of [...names, ...also])
      expect([name, (seen.get(name) ?? 0) > steps / 2_000]).toEqual([name, true]);
  },
  campaignTimeoutMs,
);
