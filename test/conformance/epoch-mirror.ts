import { describe, expect, test } from '@jest/globals';
import type { EpochCopies, EpochMirror, UsageEpoch } from '../../core/policy/usage-epoch.js';
import { startMs } from './usage-requests.js';

function anEpoch(change: Partial<UsageEpoch> = {}): UsageEpoch {
  return { id: 'first', since: startMs, longestExpiryMs: 7_200_000, ...change };
}

/** What every place for the copies of epochs guarantees; `create` gives an empty one, `reopen` the same copies again. */
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

    test('of those that write at once one succeeds, and all see what it wrote', async () => {
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
