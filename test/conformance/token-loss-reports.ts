import { describe, expect, test } from '@jest/globals';
import type { TokenLossReports } from '../../core/policy/token-loss-reports.js';
import { startMs } from './usage-requests.js';

const none = { stopped: [] };
const one = { stopped: [{ version: '1.1.0', until: startMs }] };

/** Guarantees of every transport of loss reports; `reopen` opens the same one again. */
export function tokenLossReportsConformance(
  implementation: string,
  create: () => Promise<{ readonly reports: TokenLossReports; reopen(): TokenLossReports }>,
): void {
  describe(`reports of token losses: ${implementation}`, () => {
    test('the newest report of each chain is read at the other end', async () => {
      const { reports, reopen } = await create();
      expect(await reopen().all()).toEqual(new Map());
      await reports.put(1, none);
      await reports.put(11, one);
      expect(await reopen().all()).toEqual(
        new Map([
          [1, none],
          [11, one],
        ]),
      );
      await reports.put(1, one);
      await reports.put(11, none);
      expect((await reopen().all()).get(1)).toEqual(one);
      expect((await reopen().all()).get(11)).toEqual(none);
    });

    test('followers of several chains that report at once do not undo each other', async () => {
      const { reports, reopen } = await create();
      const chains = [1, 2, 3];
      await Promise.all(chains.map((chainId) => (chainId % 2 === 0 ? reports : reopen()).put(chainId, one)));
      expect(await reports.all()).toEqual(new Map(chains.map((chainId) => [chainId, one])));
    });
  });
}
