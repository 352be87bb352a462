import { afterEach, describe, expect, test } from '@jest/globals';
import { FairSlots, SlotsBusy } from '../../adapters/fair-slots.js';
import { until } from '../support/until.js';

const cleanUps: (() => void)[] = [];
afterEach(() => {
  for (const cleanUp of cleanUps.splice(0)) cleanUp();
});

/** Tasks that end on command, and the tasks that have started so far. */
function someTasks() {
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  let isOver = false;
  cleanUps.push(() => {
    isOver = true;
    for (const end of ends.values()) end();
  });
  const task = (name: string) => () => {
    started.push(name);
    if (isOver) return Promise.resolve(name);
    return new Promise<string>((resolve) => ends.set(name, () => resolve(name)));
  };
  return { started, task, end: (name: string) => ends.get(name)?.() };
}

const limits = { slots: 2, perKey: 1, waitingPerKey: 2, maxWaitMs: 60_000 };

describe('a pool that callers share', () => {
  test('gives one key at most its share, and another key the rest', () => {
    const { started, task } = someTasks();
    const slots = new FairSlots(limits);
    void slots.run('a', task('a1'));
    void slots.run('a', task('a2'));
    void slots.run('b', task('b1'));
    expect(started).toEqual(['a1', 'b1']);
  });

  test('serves waiting keys in turn, however many calls one of them has', async () => {
    const { started, task, end } = someTasks();
    const slots = new FairSlots({ ...limits, slots: 1, waitingPerKey: 10 });
    const first = slots.run('a', task('a1'));
    const rest = ['a2', 'a3', 'b1', 'c1'].map((name) => slots.run(name[0] ?? '', task(name)));
    end('a1');
    await first;
    for (const name of ['b1', 'c1', 'a2']) {
      await Promise.resolve();
      end(name);
      await rest[['a2', 'a3', 'b1', 'c1'].indexOf(name)];
    }
    end('a3');
    await Promise.all(rest);
    expect(started).toEqual(['a1', 'b1', 'c1', 'a2', 'a3']);
    await expect(slots.run('d', () => Promise.resolve('free again'))).resolves.toBe('free again');
  });

  test('turns a key away whose queue is full, at once, and nobody else', async () => {
    const { started, task } = someTasks();
    const slots = new FairSlots(limits);
    for (const name of ['a1', 'a2', 'a3']) void slots.run('a', task(name));
    await expect(slots.run('a', task('a4'))).rejects.toBeInstanceOf(SlotsBusy);
    void slots.run('b', task('b1'));
    expect(started).toEqual(['a1', 'b1']);
  });

  test('turns a call away whose turn does not come in time, and never runs it', async () => {
    const { started, task, end } = someTasks();
    const slots = new FairSlots({ ...limits, maxWaitMs: 10 });
    const first = slots.run('a', task('a1'));
    await expect(slots.run('a', task('a2'))).rejects.toBeInstanceOf(SlotsBusy);
    end('a1');
    await first;
    expect(started).toEqual(['a1']);
    expect(await slots.run('a', () => Promise.resolve('free again'))).toBe('free again');
  });

  test('a task that fails gives its slot back', async () => {
    const slots = new FairSlots({ ...limits, slots: 1 });
    await expect(slots.run('a', () => Promise.reject(new Error('oops')))).rejects.toThrow('oops');
    expect(await slots.run('b', () => Promise.resolve('done'))).toBe('done');
  });

  describe('behind a gate', () => {
    /** A gate that lets so many calls through. */
    const someGate = () => {
      const gate = { left: 0, delayMs: () => (gate.left > 0 ? 0 : 1), pass: () => void (gate.left -= 1) };
      return gate;
    };

    test('begins a call only when it is open, and serves keys in turn', async () => {
      const gate = someGate();
      const { started, task } = someTasks();
      const slots = new FairSlots({ slots: 9, perKey: 9, waitingPerKey: 9, maxWaitMs: 60_000, gate });
      for (const name of ['a1', 'a2', 'a3', 'b1', 'b2']) void slots.run(name[0] ?? '', task(name));
      expect(started).toEqual([]);
      const seen: string[][] = [];
      for (let open = 1; open <= 5; open += 1) {
        gate.left = 1;
        await until('one begins', () => started.length === open);
        seen.push([...started]);
      }
      expect(seen.at(-1)).toEqual(['a1', 'b1', 'a2', 'b2', 'a3']);
    });

    test('lets nobody pass those who wait, although it has just been opened', () => {
      const gate = someGate();
      const { started, task } = someTasks();
      const slots = new FairSlots({ slots: 9, perKey: 9, waitingPerKey: 9, maxWaitMs: 60_000, gate });
      void slots.run('a', task('a1'));
      gate.left = 1;
      void slots.run('b', task('b1'));
      expect(started).not.toContain('b1');
      gate.left = 9;
    });

    test('turns a call away that waits longer than it may', async () => {
      const gate = someGate();
      const slots = new FairSlots({ slots: 9, perKey: 9, waitingPerKey: 9, maxWaitMs: 60_000, gate });
      await expect(slots.run('a', () => Promise.resolve(1), 5)).rejects.toBeInstanceOf(SlotsBusy);
    });
  });
});
