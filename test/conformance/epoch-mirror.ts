import { describe, expect, test } from '@jest/globals';
import type { EpochCopies, EpochMirror, UsageEpoch } from '../../core/usage/epoch.js';
import type { EpochMs } from '../../core/units/time.js';
import { startMs } from './usage-requests.js';

function anEpoch(change: Partial<UsageEpoch> = {}): UsageEpoch {
  return { id: 'first', since: startMs, sequence: 3, longestExpiryMs: 7_200_000, ...change };
}

/** Guarantees of every epoch mirror; `create` gives an empty one, `reopen` opens the same copies again. */
export function epochMirrorConformance(
  implementation: string,
  create: () => Promise<{
    readonly mirror: EpochMirror & Partial<EpochCopies>;
    reopen(): Promise<EpochMirror>;
  }>,
): void {
  describe(`epoch mirror: ${implementation}`, () => {
    test('a copy is written only over the one that is expected', async () => {
      const { mirror } = await create();
      const lost = anEpoch({ lostAt: startMs });
      expect(await mirror.get(1)).toBeUndefined();
      expect(await mirror.put(1, anEpoch(), lost)).toBe(false);
      expect(await mirror.put(1, anEpoch(), undefined)).toBe(true);
      expect(await mirror.put(1, anEpoch({ id: 'second' }), undefined)).toBe(false);
      expect(await mirror.put(1, lost, anEpoch({ longestExpiryMs: 1 }))).toBe(false);
      expect(await mirror.put(1, lost, anEpoch())).toBe(true);
      expect(await mirror.get(1)).toEqual(lost);
      expect(await mirror.put(1, anEpoch({ id: 'second' }), lost)).toBe(true);
      expect(await mirror.get(1)).toEqual(anEpoch({ id: 'second' }));
    });

    test('each chain has its own', async () => {
      const { mirror } = await create();
      expect(await mirror.put(1, anEpoch(), undefined)).toBe(true);
      expect(await mirror.get(11)).toBeUndefined();
      expect(await mirror.put(11, anEpoch({ id: 'other' }), undefined)).toBe(true);
      expect(await mirror.get(1)).toEqual(anEpoch());
    });

    test('where the copies of all chains can be read, each is under its chain id', async () => {
      const { mirror } = await create();
      if (mirror.all === undefined) return;
      expect(await mirror.all()).toEqual(new Map());
      const lost = anEpoch({ id: 'other', lostAt: startMs });
      await mirror.put(1, anEpoch(), undefined);
      await mirror.put(11, lost, undefined);
      expect(await mirror.all()).toEqual(
        new Map([
          [1, anEpoch()],
          [11, lost],
        ]),
      );
    });

    test('a sequence is raised, and never lowered, for the epoch that the copy has', async () => {
      const { mirror, reopen } = await create();
      const mark = (sequence: number, id = 'first') => new Map([[1, { id, sequence }]]);
      expect(await mirror.raise(mark(9))).toEqual(new Map());
      expect(await mirror.get(1)).toBeUndefined();
      await mirror.put(1, anEpoch(), undefined);
      const nine = new Map([[1, anEpoch({ sequence: 9 })]]);
      expect(await mirror.raise(mark(9))).toEqual(nine);
      expect(await mirror.raise(mark(8))).toEqual(nine);
      expect(await mirror.raise(mark(10, 'second'))).toEqual(nine);
      expect(await (await reopen()).get(1)).toEqual(anEpoch({ sequence: 9 }));
      expect(await mirror.put(1, anEpoch({ id: 'second' }), anEpoch())).toBe(false);
    });

    test('the moment of the last long promise moves forwards only', async () => {
      const { mirror } = await create();
      const at = (ms: number) => (startMs + ms) as EpochMs;
      const mark = (ms: number) => new Map([[1, { id: 'first', sequence: 0, longestAt: at(ms) }]]);
      await mirror.put(1, anEpoch(), undefined);
      for (const ms of [1000, 2000, 500]) await mirror.raise(mark(ms));
      expect(await mirror.get(1)).toEqual(anEpoch({ longestAt: at(2000) }));
    });

    test('when many raise it at once the highest is stored after the next call', async () => {
      const { mirror, reopen } = await create();
      const other = await reopen();
      await mirror.put(1, anEpoch(), undefined);
      const mark = (sequence: number) => new Map([[1, { id: 'first', sequence }]]);
      const numbers = Array.from({ length: 12 }, (_, i) => 10 + i);
      await Promise.all(numbers.map((n) => (n % 2 === 0 ? mirror : other).raise(mark(n))));
      await mirror.raise(mark(21));
      expect((await other.get(1))?.sequence).toBe(21);
    });

    test('of several writes at once one succeeds, and all see its result', async () => {
      const { mirror, reopen } = await create();
      const other = await reopen();
      const ids = Array.from({ length: 8 }, (_, i) => `id-${i}`);
      const written = await Promise.all(
        ids.map((id, i) => (i % 2 === 0 ? mirror : other).put(1, anEpoch({ id }), undefined)),
      );
      expect(written.filter(Boolean)).toHaveLength(1);
      const winner = anEpoch({ id: ids[written.indexOf(true)]! });
      expect(await mirror.get(1)).toEqual(winner);
      expect(await other.get(1)).toEqual(winner);
    });
  });
}
