import { describe, expect, test } from '@jest/globals';
import type { Reports } from '../../core/reports/reports.js';
import type { ServingReport } from '../../core/reports/serving-reports.js';
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

const none = { stopped: [] };
const one = { stopped: [{ version: '1.1.0', until: startMs }] };

/** Guarantees of every transport of reports; `reopen` opens the same one again, `spoil` writes texts as another program would. */
export function reportsConformance(
  implementation: string,
  create: (clock: Clock) => Promise<{
    readonly reports: Reports;
    reopen(): Reports;
    spoil(texts: Readonly<Record<string, string>>): Promise<void>;
  }>,
): void {
  describe(`reports of servers: ${implementation}`, () => {
    let now = startMs;
    const open = async () => {
      now = startMs;
      return create({ now: () => now });
    };

    test('a chain has its place also where many policies are reported', async () => {
      const { reports, reopen } = await open();
      await reports.merge(
        'serving',
        new Map(Array.from({ length: 1_000 }, (_, i) => [`limit-${i}`, full(100)])),
      );
      await reports.merge(
        'serving',
        new Map([['chain.8453', { trouble: 'Failing', until: (startMs + 100) as EpochMs }]]),
      );
      await reports.merge('serving', new Map([['one-more', full(100)]]));
      const all = await reopen().all('serving');
      expect(all.size).toBe(1_001);
      expect(all.get('chain.8453')?.trouble).toBe('Failing');
    });

    test('reports that servers add are read at the other end, the newest of each', async () => {
      const { reports, reopen } = await open();
      expect(await reopen().all('serving')).toEqual(new Map());
      await reports.merge('serving', new Map([['a', full(100)]]));
      await reopen().merge(
        'serving',
        new Map([
          ['a', full(50)],
          ['b', failing(100)],
        ]),
      );
      await reports.merge('serving', new Map([['b', failing(200)]]));
      expect(await reopen().all('serving')).toEqual(
        new Map([
          ['a', full(50)],
          ['b', failing(200)],
        ]),
      );
    });

    test('a trouble that a server says is over is gone at once, and another one of the same policy stays', async () => {
      const { reports, reopen } = await open();
      await reports.merge(
        'serving',
        new Map([
          ['a', full(100)],
          ['b', failing(100)],
        ]),
      );
      const over = { trouble: 'LimitFull', until: 0 as EpochMs } as const;
      await reports.merge(
        'serving',
        new Map([
          ['a', over],
          ['b', over],
        ]),
      );
      expect(await reopen().all('serving')).toEqual(new Map([['b', failing(100)]]));
    });

    test('a host that answers one server does not count as failing because of another, until that is over', async () => {
      const { reports } = await open();
      const answers = { trouble: 'WebhookAnswers', until: (startMs + 50) as EpochMs } as const;
      await reports.merge('serving', new Map([['a', failing(100)]]));
      await reports.merge('serving', new Map([['a', answers]]));
      await reports.merge('serving', new Map([['a', failing(200)]]));
      expect(await reports.all('serving')).toEqual(new Map([['a', answers]]));
      now = (startMs + 50) as EpochMs;
      await reports.merge('serving', new Map([['a', failing(200)]]));
      expect(await reports.all('serving')).toEqual(new Map([['a', failing(200)]]));
    });

    test('a trouble that is over is not reported, and makes room for others', async () => {
      const { reports } = await open();
      await reports.merge(
        'serving',
        new Map(Array.from({ length: 1_000 }, (_, index) => [`p${index}`, full(100)])),
      );
      await reports.merge('serving', new Map([['late', full(200)]]));
      expect(await reports.all('serving')).toHaveProperty('size', 1_000);
      expect((await reports.all('serving')).has('late')).toBe(false);
      now = (startMs + 100) as EpochMs;
      expect(await reports.all('serving')).toEqual(new Map());
      await reports.merge('serving', new Map([['late', full(200)]]));
      expect(await reports.all('serving')).toEqual(new Map([['late', full(200)]]));
    });

    test('servers that report at once do not undo each other', async () => {
      const { reports, reopen } = await open();
      const ids = ['a', 'b', 'c'];
      await Promise.all(
        ids.map((id, index) =>
          (index % 2 === 0 ? reports : reopen()).merge('serving', new Map([[id, full(100)]])),
        ),
      );
      expect([...(await reports.all('serving')).keys()].toSorted()).toEqual(ids);
    });

    test('the newest losses of each chain are read at the other end, and leave other subjects alone', async () => {
      const { reports, reopen } = await open();
      expect(await reopen().all('losses')).toEqual(new Map());
      await reports.merge('serving', new Map([['1', full(100)]]));
      await reports.merge(
        'losses',
        new Map([
          ['1', none],
          ['11', one],
        ]),
      );
      await reopen().merge('losses', new Map([['1', one]]));
      expect(await reopen().all('losses')).toEqual(
        new Map([
          ['1', one],
          ['11', one],
        ]),
      );
      await reports.merge('losses', new Map([['11', none]]));
      expect((await reopen().all('losses')).get('11')).toEqual(none);
      expect(await reopen().all('serving')).toEqual(new Map([['1', full(100)]]));
    });

    test('followers of several chains that report at once do not undo each other', async () => {
      const { reports, reopen } = await open();
      const chains = ['1', '2', '3'];
      await Promise.all(
        chains.map((id, index) =>
          (index % 2 === 0 ? reports : reopen()).merge('losses', new Map([[id, one]])),
        ),
      );
      expect(await reports.all('losses')).toEqual(new Map(chains.map((id) => [id, one])));
    });

    test('what another program writes over a report hides no other, and is put right by the next report', async () => {
      const { reports, spoil } = await open();
      await reports.merge('serving', new Map([['a', full(100)]]));
      await reports.merge('losses', new Map([['1', one]]));
      await spoil({ 'losses.11': '{', 'losses.1': 'changed', 'serving.b': '__proto__', other: 'kept' });
      expect(await reports.all('serving')).toEqual(new Map([['a', full(100)]]));
      expect(await reports.all('losses')).toEqual(new Map());
      await reports.merge('losses', new Map([['1', one]]));
      expect(await reports.all('losses')).toEqual(new Map([['1', one]]));
      expect(await reports.all('serving')).toEqual(new Map([['a', full(100)]]));
    });
  });
}
