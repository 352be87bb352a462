import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createCallTurns, slicesMs, type CallKind } from '../../../server/rpc/call-turns.js';

/** A thread whose clock goes on only while a call runs. */
function createThread() {
  let nowMs = 0;
  const immediates: (() => void)[] = [];
  const ran: string[] = [];
  const turns = createCallTurns({ now: () => nowMs, afterTurn: (run) => immediates.push(run) });
  return {
    ran,
    now: () => nowMs,
    isIdle: () => immediates.length === 0,
    /** Asks for a call that takes so long. */
    ask(paymaster: string, name: string, takesMs: number, kind: CallKind = 'ordinary') {
      return turns.run(paymaster, kind, () => {
        nowMs += takesMs;
        ran.push(name);
        return name;
      });
    },
    /** Goes once around the loop. */
    turn(): void {
      for (const run of immediates.splice(0)) run();
    },
  };
}

describe('calls', () => {
  test('that nobody waits before run at once, and answer without a promise', () => {
    const thread = createThread();
    expect(thread.ask('a', 'a1', 0.2)).toBe('a1');
    expect(thread.ask('b', 'b1', 0.2)).toBe('b1');
  });

  test('of a paymaster that is alone wait when five milliseconds of a turn are gone', async () => {
    const thread = createThread();
    const asked = Array.from({ length: 12 }, (_, index) => thread.ask('a', `a${index}`, 1));
    expect(thread.ran).toHaveLength(slicesMs.alone);
    thread.turn();
    expect(thread.ran).toHaveLength(slicesMs.alone + 1);
    thread.turn();
    expect(thread.ran).toHaveLength(2 * slicesMs.alone + 1);
    thread.turn();
    for (const [index, answer] of asked.entries()) expect(await answer).toBe(`a${index}`);
  });

  test('of other paymasters run before those that wait in a batch, and take turns with them', () => {
    const thread = createThread();
    for (let index = 0; index < 100; index += 1) void thread.ask('loud', `loud${index}`, 1);
    thread.turn();
    const before = thread.ran.length;
    expect(thread.ask('quiet', 'quiet1', 0.3)).toBe('quiet1');
    for (const name of ['quiet2', 'quiet3', 'quiet4', 'quiet5']) void thread.ask('quiet', name, 2);
    // No longer alone: the lines get short slices.
    for (let turn = 0; turn < 4; turn += 1) thread.turn();
    const expected = ['quiet1', 'quiet2', 'quiet3', 'quiet4', 'loud6', 'quiet5', 'loud7', 'loud8'];
    expect(thread.ran.slice(before)).toEqual(expected);
  });

  test('aside never run at once, and one in a turn, paymasters in turn', () => {
    const thread = createThread();
    for (const name of ['a1', 'a2', 'a3']) void thread.ask('a', name, 8, 'aside');
    void thread.ask('b', 'b1', 8, 'aside');
    expect(thread.ran).toEqual([]);
    expect(thread.ask('a', 'now', 0.1)).toBe('now');
    for (let turn = 1; turn <= 4; turn += 1) {
      thread.turn();
      expect(thread.ran).toHaveLength(1 + turn);
    }
    expect(thread.ran).toEqual(['now', 'a1', 'b1', 'a2', 'a3']);
    expect(thread.isIdle()).toBe(true);
  });

  test('that throw do so for their caller alone', async () => {
    const turns = createCallTurns({ now: () => 0, afterTurn: setImmediate });
    const fail = () => {
      throw new Error('no');
    };
    expect(() => turns.run('a', 'ordinary', fail)).toThrow('no');
    const waiting = turns.run('a', 'aside', fail);
    const next = turns.run('a', 'aside', () => 'answered');
    await expect(waiting).rejects.toThrow('no');
    await expect(next).resolves.toBe('answered');
  });
});

test('in any order of calls each runs once, those of a paymaster in their order, and no turn takes more than a slice and three calls', () => {
  const asked = fc.record({
    paymaster: fc.constantFrom('a', 'b', 'c'),
    kind: fc.constantFrom<CallKind>('ordinary', 'ordinary', 'aside'),
    takesMs: fc.integer({ min: 0, max: 7 }),
  });
  fc.assert(
    fc.property(fc.array(fc.array(asked, { maxLength: 20 }), { maxLength: 10 }), (turns) => {
      const thread = createThread();
      const expected = new Map<string, string[]>();
      let count = 0;
      const around = (calls: (typeof turns)[number]) => {
        const begun = thread.now();
        for (const { paymaster, kind, takesMs } of calls) {
          const line = `${paymaster} ${kind}`;
          const name = `${line} ${(count += 1)}`;
          expected.set(line, [...(expected.get(line) ?? []), name]);
          void thread.ask(paymaster, name, takesMs, kind);
        }
        thread.turn();
        // The last call that runs at once, the last of the lines, and one aside.
        expect(thread.now() - begun).toBeLessThanOrEqual(slicesMs.alone + 3 * 7);
      };
      for (const calls of turns) around(calls);
      for (let turn = 0; turn <= count && !thread.isIdle(); turn += 1) around([]);
      expect(thread.isIdle()).toBe(true);
      for (const [line, names] of expected)
        expect(thread.ran.filter((name) => name.startsWith(`${line} `))).toEqual(names);
      expect(thread.ran).toHaveLength(count);
    }),
  );
});
