import { expect } from '@jest/globals';
import type { Growth } from '../../support/growing.js';
import type { Write } from './every-write.js';

// Of the body of a write every member that can repeat or grow: twice the size costs at most 2.5 times the CPU.

const [smallBytes, largeBytes] = [4_000, 32_000];
/** Eight times the size is twice the size, three times. */
const mostGrowth = 2.5 ** 3;

export async function expectBoundedGrowth({ name, status, example, growths, send }: Write): Promise<void> {
  const answered = await send(example(), (run) => run());
  expect({ name, status: answered.status }).toEqual({ name, status });
  const all = growths();
  expect(all.length).toBeGreaterThan(2);
  expect(await tooCostly(all, (text) => send(text, timed))).toEqual([]);
}

type Sent = { readonly status: number; readonly micros: number };

/** The members that cost more, with how much. */
async function tooCostly(
  growths: readonly Growth[],
  send: (text: string) => Promise<Sent>,
): Promise<readonly string[]> {
  const found: string[] = [];
  for (const { member, bodyOf, most = largeBytes } of growths)
    // At the schema's bound, where the whole way is gone, and beyond it.
    for (const bytes of new Set([Math.min(most, largeBytes), largeBytes])) {
      const factor = await growthIn(send, bodyOf(bytes * (smallBytes / largeBytes)), bodyOf(bytes));
      if (factor >= mostGrowth) found.push(`${member} of ${bytes} bytes: ${Math.round(factor)} times`);
    }
  return found;
}

/** Others' load and code that is compiled at its first call only add to a cost, so the least of several counts. */
async function growthIn(
  send: (text: string) => Promise<Sent>,
  small: string,
  large: string,
): Promise<number> {
  const cost = async (text: string): Promise<number> => {
    const { status, micros } = await send(text);
    if (status === 500) throw new Error(`status 500 for ${text.slice(0, 200)}`);
    return micros;
  };
  let [leastSmall, leastLarge] = [await cost(small), Number.POSITIVE_INFINITY];
  for (let round = 0; round < 20; round += 1) {
    leastLarge = Math.min(leastLarge, await cost(large));
    leastSmall = Math.min(leastSmall, await cost(small));
    const factor = leastLarge / leastSmall;
    // Within the bound, or far above it for ten rounds: the work of other threads may fall into a few.
    if (factor < mostGrowth || (round >= 9 && factor > 4 * mostGrowth)) break;
  }
  return leastLarge / leastSmall;
}

async function timed(run: () => Promise<{ readonly status: number }>): Promise<Sent> {
  const before = process.cpuUsage();
  const { status } = await run();
  const { user, system } = process.cpuUsage(before);
  return { status, micros: user + system };
}
