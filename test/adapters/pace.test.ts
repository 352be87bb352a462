import { expect, test } from '@jest/globals';
import { createPace } from '../../adapters/pace.js';
import type { InParts } from '../../core/units/in-parts.js';

/** An event loop whose turns the test takes, and whose time passes only by work. */
function aLoop() {
  let now = 0;
  const turns: (() => void)[] = [];
  const held: number[] = [];
  const pace = createPace(
    () => now,
    (work) => turns.push(work),
  );
  return {
    pace,
    held,
    /** Parts of one millisecond each. */
    *work(parts: number): InParts<number> {
      for (let part = 0; part < parts; part += 1) {
        now += 1;
        yield;
      }
      return parts;
    },
    /** Takes turns until nothing is left to do, and notes how long each held the loop. */
    async run(): Promise<void> {
      for (let turn = turns.shift(); turn !== undefined; turn = turns.shift()) {
        const before = now;
        turn();
        // All that follows without a turn of the loop.
        await new Promise((resolve) => setImmediate(resolve));
        held.push(now - before);
      }
    },
  };
}

test('a hundred who work at one pace hold the loop no longer than one does', async () => {
  const loop = aLoop();
  const works = Array.from({ length: 100 }, () => loop.pace.run(loop.work(20)));
  await loop.run();
  expect(await Promise.all(works)).toEqual(Array.from({ length: 100 }, () => 20));
  expect(Math.max(...loop.held)).toBeLessThanOrEqual(10);
  // And no turn is taken for nothing.
  expect(loop.held.length).toBeLessThanOrEqual(500);
});

test('what fails fails alone', async () => {
  const loop = aLoop();
  const failing = loop.pace.run(
    (function* (): InParts<number> {
      yield* loop.work(7);
      throw new Error('no ABI');
    })(),
  );
  const other = loop.pace.run(loop.work(7));
  const failed = expect(failing).rejects.toThrow('no ABI');
  await loop.run();
  await failed;
  expect(await other).toBe(7);
});
