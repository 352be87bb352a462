import { describe, expect, test } from '@jest/globals';
import type { ServingReport, ServingReports } from '../../core/policy/serving-reports.js';
import type { Clock, EpochMs } from '../../core/units/time.js';
import { startMs } from './usage-requests.js';

const full = (forMs: number): ServingReport => ({
  trouble: 'LimitFull',
  until: (startMs + forMs) as EpochMs,
});
const failing = (forMs: number): ServingReport => ({
  trouble: 'WebhookFailing',
  until: (startMs + forMs) as EpochMs,
});

/** Guarantees of every transport of reports about policies and tokens that do not serve; `reopen` opens the same one again. */
export function servingReportsConformance(
  implementation: string,
  create: (clock: Clock) => Promise<{ readonly reports: ServingReports; reopen(): ServingReports }>,
): void {
  describe(`reports of policies and tokens that do not serve: ${implementation}`, () => {
    let now = startMs;
    const open = async () => {
      now = startMs;
      return create({ now: () => now });
    };

    test('a chain has its place also where many policies are reported', async () => {
      const { reports, reopen } = await open();
      await reports.merge(new Map(Array.from({ length: 1_000 }, (_, i) => [`limit-${i}`, full(100)])));
      await reports.merge(
        new Map([['chain.8453', { trouble: 'Failing', until: (startMs + 100) as EpochMs }]]),
      );
      await reports.merge(new Map([['one-more', full(100)]]));
      const all = await reopen().all();
      expect(all.size).toBe(1_001);
      expect(all.get('chain.8453')?.trouble).toBe('Failing');
    });

    test('reports that servers add are read at the other end, each with its later end', async () => {
      const { reports, reopen } = await open();
      expect(await reopen().all()).toEqual(new Map());
      await reports.merge(new Map([['a', full(100)]]));
      await reopen().merge(
        new Map([
          ['a', full(50)],
          ['b', failing(100)],
        ]),
      );
      await reports.merge(new Map([['b', failing(200)]]));
      expect(await reopen().all()).toEqual(
        new Map([
          ['a', full(100)],
          ['b', failing(200)],
        ]),
      );
    });

    test('a trouble that is over is not reported, and makes room for others', async () => {
      const { reports } = await open();
      await reports.merge(new Map(Array.from({ length: 1_000 }, (_, index) => [`p${index}`, full(100)])));
      await reports.merge(new Map([['late', full(200)]]));
      expect(await reports.all()).toHaveProperty('size', 1_000);
      expect((await reports.all()).has('late')).toBe(false);
      now = (startMs + 100) as EpochMs;
      expect(await reports.all()).toEqual(new Map());
      await reports.merge(new Map([['late', full(200)]]));
      expect(await reports.all()).toEqual(new Map([['late', full(200)]]));
    });

    test('servers that report at once do not undo each other', async () => {
      const { reports, reopen } = await open();
      const ids = ['a', 'b', 'c'];
      await Promise.all(
        ids.map((id, index) => (index % 2 === 0 ? reports : reopen()).merge(new Map([[id, full(100)]]))),
      );
      expect([...(await reports.all()).keys()].toSorted()).toEqual(ids);
    });
  });
}
