import { beforeEach, describe, expect, test } from '@jest/globals';
import { DomainError } from '../../../core/errors.js';
import { silentLogger } from '../../../core/log.js';
import { noMetrics } from '../../../core/metrics.js';
import type { ChainEpoch } from '../../../adapters/store/kept-epochs.js';
import { UsageEpochs } from '../../../adapters/store/usage-epochs.js';
import {
  createMemoryEpochMirror,
  findLossId,
  type EpochMirror,
  type UsageEpoch,
} from '../../../core/usage/epoch.js';
import { hourMs } from '../../conformance/usage-requests.js';
import { aClock } from './clock.js';
import { aKeptStore } from './kept-store.js';

const chainId = 1;
const stepMs = 600_000;
const skewMs = 120_000;
/** A process that cannot reach the mirror for so long stops signing anyway. */
const outageMs = 6 * hourMs;
const lost = { code: 'UNAVAILABLE', details: { reason: 'USAGE_STORE_LOST' } };

let clock: ReturnType<typeof aClock>;
let mirror: ReturnType<typeof createMemoryEpochMirror>;
let store: ReturnType<typeof aKeptStore>;
beforeEach(() => {
  clock = aClock();
  mirror = createMemoryEpochMirror();
  store = aKeptStore(clock);
});

function aProcess(over: EpochMirror = mirror): UsageEpochs {
  return new UsageEpochs({
    store: store.kept,
    mirror: over,
    clock,
    log: silentLogger,
    metrics: noMetrics,
  });
}

/** The mirror, where so many times somebody else writes first. */
function collidingTimes(times: number): EpochMirror {
  let left = times;
  return {
    ...mirror,
    raise: async (marks) => {
      left -= 1;
      return mirror.raise(
        left < 0 ? marks : new Map([...marks].map(([id, mark]) => [id, { ...mark, sequence: 0 }])),
      );
    },
  };
}

const mirrored = async (): Promise<UsageEpoch> => (await mirror.get(chainId))!;
const longest = async (): Promise<number> => (await mirrored()).longestExpiryMs;

describe('the sequence', () => {
  test('is mirrored as far as a process has seen it, by whichever process, and never lowered', async () => {
    const [first, second] = [aProcess(), aProcess()];
    await first.of(chainId);
    await second.of(chainId);
    for (let n = 0; n < 5; n++) first.seen(chainId, store.write());
    const five = first.known(chainId)?.sequence;
    await first.raise();
    expect((await mirrored()).sequence).toBe(five);
    second.seen(chainId, five! - 2);
    await second.raise();
    expect((await mirrored()).sequence).toBe(five);
    second.seen(chainId, store.write());
    await second.stop();
    expect((await mirrored()).sequence).toBe(five! + 1);
  });

  test('below that of the mirror means that data are lost, equal and above that they are there', async () => {
    const first = aProcess();
    await first.of(chainId);
    const backup = store.copy();
    first.seen(chainId, store.write());
    const last = store.copy();
    await first.stop();
    store.putBack(backup);
    await expect(aProcess().of(chainId)).rejects.toMatchObject(lost);
    store.putBack(last);
    await expect(aProcess().of(chainId)).resolves.toMatchObject({ sequence: last.sequence });
    store.write();
    await expect(aProcess().of(chainId)).resolves.toBeDefined();
  });

  test('below what a process has seen is noticed by it without the mirror, and by all others from then on', async () => {
    const [first, second] = [aProcess(), aProcess()];
    const epoch = await first.of(chainId);
    const behind = await second.of(chainId);
    const backup = store.copy();
    first.seen(chainId, store.write());
    store.putBack(backup);
    await expect(first.behind(chainId, epoch)).rejects.toMatchObject(lost);
    // The other one has seen less, but its epoch is not the store's epoch any longer.
    await expect(second.mismatch(chainId, behind)).rejects.toMatchObject(lost);
    await expect(aProcess().of(chainId)).rejects.toMatchObject(lost);
    // Writes of a process that has not noticed do not make up for it.
    for (let n = 0; n < 9; n++) store.write();
    await expect(aProcess().of(chainId)).rejects.toMatchObject(lost);
  });

  test.each([
    { name: 'a mirror that answers', writer: () => mirror },
    {
      name: 'a mirror that others write at the same time',
      writer: () => collidingTimes(2),
    },
  ])(
    'below what any process had seen when the connection broke is noticed by all, with $name',
    async ({ writer }) => {
      const [first, second] = [aProcess(writer()), aProcess()];
      await first.of(chainId);
      await second.of(chainId);
      const backup = store.copy();
      first.seen(chainId, store.write());
      store.putBack(backup);
      await Promise.all([second.interrupted(), first.interrupted()]);
      await expect(second.of(chainId)).rejects.toMatchObject(lost);
      await expect(first.of(chainId)).rejects.toMatchObject(lost);
    },
  );

  test('below what another process had seen is noticed although the connection broke while the copy was read', async () => {
    const first = aProcess();
    await first.of(chainId);
    const backup = store.copy();
    first.seen(chainId, store.write());
    const { promise: isBroken, resolve: goOn } = Promise.withResolvers<void>();
    const second = aProcess({
      ...mirror,
      get: async (id) => {
        const copy = await mirror.get(id);
        await isBroken;
        return copy;
      },
    });
    const establishing = second.of(chainId);
    // What the mirror says now has been read.
    await new Promise(setImmediate);
    store.putBack(backup);
    await first.interrupted();
    await second.interrupted();
    goOn();
    await expect(establishing).rejects.toMatchObject(lost);
  });

  test('is mirrored at a stop, although others write the mirror at the same time', async () => {
    const first = aProcess(collidingTimes(2));
    await first.of(chainId);
    const highest = store.write();
    first.seen(chainId, highest);
    await first.stop();
    expect((await mirrored()).sequence).toBe(highest);
  });

  test('counts also when the connection broke without a loss, and stays in the mirror', async () => {
    const [first, second] = [aProcess(), aProcess()];
    await first.of(chainId);
    await second.of(chainId);
    first.seen(chainId, store.write());
    const highest = first.known(chainId)?.sequence;
    await first.interrupted();
    await second.interrupted();
    expect((await second.of(chainId)).sequence).toBe(highest);
    expect((await first.of(chainId)).sequence).toBe(highest);
    expect((await mirrored()).sequence).toBe(highest);
  });

  test('that a process had seen when the connection broke is mirrored at its stop, if the mirror did not answer before', async () => {
    let isAway = true;
    const first = aProcess({
      ...mirror,
      raise: async (marks) => {
        if (isAway) throw new DomainError('UNAVAILABLE', 'the API server does not answer');
        return mirror.raise(marks);
      },
    });
    await first.of(chainId);
    const highest = store.write();
    first.seen(chainId, highest);
    await first.interrupted();
    expect((await mirrored()).sequence).toBeLessThan(highest);
    isAway = false;
    await first.stop();
    expect((await mirrored()).sequence).toBe(highest);
  });

  test('that the mirror has from a process which ended is demanded by every process that goes on', async () => {
    const [ended, second] = [aProcess(), aProcess()];
    await ended.of(chainId);
    await second.of(chainId);
    second.seen(chainId, store.write());
    ended.seen(chainId, store.write());
    const highest = ended.known(chainId)?.sequence;
    await ended.stop();
    await second.raise();
    expect(second.known(chainId)?.sequence).toBe(highest);
  });

  test('that this process has seen still counts when its epoch is established anew', async () => {
    const first = aProcess();
    const epoch = await first.of(chainId);
    const backup = store.copy();
    first.seen(chainId, store.write());
    store.putBack(backup);
    await expect(first.mismatch(chainId, epoch)).rejects.toMatchObject(lost);
  });

  test.each([
    { name: 'by a call', notice: (first: UsageEpochs, epoch: ChainEpoch) => first.behind(chainId, epoch) },
    { name: 'by its follower', notice: (first: UsageEpochs) => first.recover(chainId) },
    {
      name: 'when its epoch was established anew',
      notice: (first: UsageEpochs, epoch: ChainEpoch) => first.mismatch(chainId, epoch),
    },
  ])(
    'that a process had seen when it noticed a loss $name counts when it has ended and the same old data come again',
    async ({ notice }) => {
      const first = aProcess();
      const epoch = await first.of(chainId);
      const backup = store.copy();
      first.seen(chainId, store.write());
      store.putBack(backup);
      await Promise.resolve(notice(first, epoch)).catch(() => {});
      store.putBack(backup);
      await first.stop();
      const next = aProcess();
      await expect(next.of(chainId)).rejects.toMatchObject(lost);
      expect(await next.recover(chainId)).toBe('waiting');
    },
  );

  test('of a new epoch begins where the store is', async () => {
    const first = aProcess();
    await first.of(chainId);
    first.seen(chainId, store.write());
    await first.raise();
    store.putBack({ kept: '', sequence: 0, longestExpiryMs: 0 });
    const next = aProcess();
    expect(await next.recover(chainId)).toBe('waiting');
    clock.advance(stepMs + skewMs);
    expect(await next.recover(chainId)).toBe('recovered');
    expect((await next.of(chainId)).sequence).toBe(store.copy().sequence);
    expect(await next.recover(chainId)).toBe('intact');
    expect((await mirrored()).lostAt).toBeUndefined();
  });
});

describe('a loss that the platform accepts', () => {
  async function aLoss(): Promise<{ readonly process: UsageEpochs; readonly id: string }> {
    const first = aProcess();
    await first.of(chainId);
    const before = store.copy();
    first.seen(chainId, store.write());
    await first.stop();
    store.putBack(before);
    const process = aProcess();
    expect(await process.recover(chainId)).toBe('waiting');
    return { process, id: findLossId(await mirrored())! };
  }

  test('ends at once, in a new epoch', async () => {
    const { process, id } = await aLoss();
    const { id: lostEpoch } = await mirrored();
    expect(await process.recover(chainId, id)).toBe('recovered');
    expect((await mirrored()).id).not.toBe(lostEpoch);
    expect(await mirrored()).not.toHaveProperty('lostAt');
    await expect(aProcess().of(chainId)).resolves.toBeDefined();
  });

  test('is this one only: another name of a loss waits for every promise', async () => {
    const { process, id } = await aLoss();
    const { id: lostEpoch, lostAt } = await mirrored();
    for (const other of [`${lostEpoch}.${lostAt! + 1}`, lostEpoch, '', `${id}0`])
      expect(await process.recover(chainId, other)).toBe('waiting');
  });

  test('says nothing of the next loss of the same epoch, when the data of the first were found again', async () => {
    const first = aProcess();
    await first.of(chainId);
    const old = store.copy();
    first.seen(chainId, store.write());
    await first.stop();
    const whole = store.copy();
    store.putBack(old);
    const process = aProcess();
    expect(await process.recover(chainId)).toBe('waiting');
    const accepted = findLossId(await mirrored())!;
    store.putBack(whole);
    expect(await process.recover(chainId, accepted)).toBe('intact');
    clock.advance(1);
    store.putBack(old);
    expect(await process.recover(chainId, accepted)).toBe('waiting');
    expect(await process.recover(chainId, accepted)).toBe('waiting');
  });
});

describe('the mirror', () => {
  test('that was restored is a loss, also after it was written again, until a new epoch has begun', async () => {
    await aProcess().of(chainId);
    const restored: UsageEpoch = { ...(await mirrored()), isMoved: true };
    let copy = restored;
    const moved: EpochMirror = {
      ...mirror,
      get: async () => copy,
      put: async (_, { isMoved: _moved, ...next }) => {
        copy = next;
        return true;
      },
    };
    await expect(aProcess(moved).of(chainId)).rejects.toMatchObject(lost);
    const next = aProcess(moved);
    expect(await next.recover(chainId)).toBe('waiting');
    expect(copy).toMatchObject({ lostAt: clock.now() });
    expect(copy).not.toHaveProperty('isMoved');
    await expect(aProcess(moved).of(chainId)).rejects.toMatchObject(lost);
    clock.advance(stepMs + skewMs - 1);
    expect(await next.recover(chainId)).toBe('waiting');
    clock.advance(1);
    expect(await next.recover(chainId)).toBe('recovered');
    await expect(aProcess(moved).of(chainId)).resolves.toBeDefined();
  });

  test('that is gone is written again from the store, with the longest expiry that was ever noted there', async () => {
    const first = aProcess();
    await first.note(chainId, 5 * hourMs);
    expect(await longest()).toBe(5 * hourMs);
    mirror = createMemoryEpochMirror();
    await aProcess().of(chainId);
    expect(await longest()).toBe(5 * hourMs);
    expect((await mirrored()).id).toBe('epoch-1');
  });

  test('that is gone while a process serves is written again by it', async () => {
    let present: EpochMirror = mirror;
    const first = aProcess({
      get: (id) => present.get(id),
      put: (...args) => present.put(...args),
      raise: (marks) => present.raise(marks),
    });
    await first.of(chainId);
    present = mirror = createMemoryEpochMirror();
    first.seen(chainId, store.write());
    await first.raise();
    expect(first.known(chainId)).toBeUndefined();
    await first.of(chainId);
    expect((await mirrored()).sequence).toBe(store.copy().sequence);
  });

  test('that cannot be reached does not stop a process, and is brought up to date later', async () => {
    let isAway = false;
    const away = async () => {
      throw new DomainError('UNAVAILABLE', 'away');
    };
    const first = aProcess({
      get: (id) => (isAway ? away() : mirror.get(id)),
      put: (...args) => (isAway ? away() : mirror.put(...args)),
      raise: (marks) => (isAway ? away() : mirror.raise(marks)),
    });
    await first.of(chainId);
    isAway = true;
    first.seen(chainId, store.write());
    await expect(first.raise()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(first.isNoted(chainId, stepMs)).toBe(true);
    isAway = false;
    await first.stop();
    expect((await mirrored()).sequence).toBe(store.copy().sequence);
  });
});

describe('the longest expiry', () => {
  test('begins with ten minutes and is noted in such steps, in the mirror and in the store, before it is used', async () => {
    const first = aProcess();
    await first.of(chainId);
    expect([first.isNoted(chainId, stepMs), first.isNoted(chainId, stepMs + 1)]).toEqual([true, false]);
    await first.note(chainId, stepMs + 1);
    expect(first.isNoted(chainId, 2 * stepMs)).toBe(true);
    expect([await longest(), store.copy().longestExpiryMs]).toEqual([2 * stepMs, 2 * stepMs]);
    await first.note(chainId, stepMs);
    expect(await longest()).toBe(2 * stepMs);
  });

  test('is halved when no promise longer than the half was made for as long, and an outage may have hidden one', async () => {
    const first = aProcess();
    await first.note(chainId, 4 * hourMs);
    clock.advance(4 * hourMs + outageMs + skewMs);
    await first.raise();
    expect(await longest()).toBe(4 * hourMs);
    clock.advance(1);
    await first.raise();
    expect([await longest(), store.copy().longestExpiryMs]).toEqual([2 * hourMs, 2 * hourMs]);
    expect([first.isNoted(chainId, 2 * hourMs), first.isNoted(chainId, 2 * hourMs + 1)]).toEqual([
      true,
      false,
    ]);
    // In the end only the first step is left.
    for (let n = 0; n < 10; n++) {
      clock.advance(12 * hourMs);
      await first.raise();
    }
    expect(await longest()).toBe(stepMs);
  });

  test('stands while longer promises than the half are made, by whichever process', async () => {
    const [first, second] = [aProcess(), aProcess()];
    await first.note(chainId, 4 * hourMs);
    await second.of(chainId);
    for (let n = 0; n < 10; n++) {
      clock.advance(4 * hourMs);
      expect(second.isNoted(chainId, 2 * hourMs + 1)).toBe(true);
      await second.raise();
      await first.raise();
    }
    expect(await longest()).toBe(4 * hourMs);
  });

  test('is not relied on by a process that has not heard of the mirror for so long that it may have fallen', async () => {
    const [first, second] = [aProcess(), aProcess()];
    await first.note(chainId, 4 * hourMs);
    await second.of(chainId);
    clock.advance(4 * hourMs + outageMs + 1);
    expect(second.isNoted(chainId, 2 * hourMs)).toBe(true);
    expect(second.isNoted(chainId, 2 * hourMs + 1)).toBe(false);
    // Nothing may fall yet, so that the two clocks may differ.
    await first.raise();
    expect(await longest()).toBe(4 * hourMs);
    await second.note(chainId, 2 * hourMs + 1);
    clock.advance(skewMs);
    await first.raise();
    expect(await longest()).toBe(4 * hourMs);
    expect(second.isNoted(chainId, 4 * hourMs)).toBe(true);
  });

  test('of a copy that does not say when it was used begins to fall when it is first seen', async () => {
    await aProcess().of(chainId);
    const { longestAt: _, ...copy } = await mirrored();
    mirror = createMemoryEpochMirror();
    await mirror.put(chainId, { ...copy, longestExpiryMs: 2 * hourMs }, undefined);
    const next = aProcess();
    await next.of(chainId);
    next.seen(chainId, store.write());
    await next.raise();
    expect((await mirrored()).longestAt).toBe(clock.now());
    clock.advance(2 * hourMs + outageMs + skewMs + 1);
    await next.raise();
    expect(await longest()).toBe(hourMs);
  });
});
