import { expect, test } from '@jest/globals';
import { isSoak } from '../support/soak-seconds.js';
import { campaign } from './campaign.js';
import { runAdversary } from './run.js';
import { openInFile, openInMemory } from './stores.js';

test.each([
  { where: 'in memory', open: openInMemory, times: isSoak ? 10_000 : 980 },
  { where: 'in a file that is killed and restored', open: openInFile(), times: isSoak ? 1_500 : 60 },
])(
  '$where: whatever is asked, mined, moved and broken, no rule of money is',
  async ({ open, times }) => {
    const { steps, seen } = await campaign(times, (chosen) => runAdversary(chosen, open));
    expect(steps).toBeGreaterThan(times * 90);
    // The runs are about something: each of these has happened often.
    const names = [
      'SPONSORED reserved',
      'ERC20 reserved',
      'ERC20 held',
      'ERC20 barred',
      'SPONSORED limit',
      'SPONSORED held',
      'mined sponsored',
      'mined paid',
      'mined unpaid',
      'settled',
      'released',
      'forfeited',
    ];
    for (const name of names) expect([name, (seen.get(name) ?? 0) > times / 20]).toEqual([name, true]);
  },
  3_600_000,
);
