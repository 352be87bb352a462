import { readFileSync, writeSync } from 'node:fs';
import { isDomainError } from '../../../core/errors.js';
import { reserve } from '../../../core/usage/plan.js';
import { openStore } from './postgres-usage.js';
import { costOf, isPaymaster, limitsOf, operationOf, type Race } from './race.js';

/**
 * One replica of the race: asks for its share of the operations, 32 at a time, until each has an answer or it is told to end by SIGTERM; what is answered
 * UNAVAILABLE is asked for again. Writes a line per operation after its answer: `+n` promised, `-n` refused, `?n` no
 * answer yet. Arguments: file with the race, number of this replica, milliseconds that its clock is ahead.
 */
const [path = '', number = '0', aheadMs = '0'] = process.argv.slice(2);
const race: Race = JSON.parse(readFileSync(path, 'utf8'));

const realNow = Date.now;
const realPerformanceNow = performance.now.bind(performance);
Date.now = () => realNow() + Number(aheadMs);
performance.now = () => realPerformanceNow() + Number(aheadMs);

const store = await openStore(race.url, { identity: number });
let next = Number(number);
let isOver = false;
process.on('SIGTERM', () => {
  isOver = true;
});
let pause = Promise.resolve();

/** Standard output is a file: the line is there when this returns. */
function say(line: string): void {
  writeSync(1, `${line}\n`);
}

async function askUntilAnswered(n: number): Promise<void> {
  const operation = operationOf(race, n);
  const { paymasterId, sender } = operation.key;
  if (!isPaymaster(paymasterId)) throw new Error(`${paymasterId} takes no part`);
  for (;;) {
    try {
      const { result } = await reserve(store, (now) => ({
        ...operation,
        limits: limitsOf(race, paymasterId, { sender, cost: costOf(n), now }),
      }));
      return say(result.outcome === 'reserved' ? `+${n}` : `-${n}`);
    } catch (error) {
      if (!isDomainError(error, 'UNAVAILABLE')) throw error;
      say(`?${n}`);
      // All wait together for the store to answer again.
      await (pause = pause.then(() => new Promise((resolve) => setTimeout(resolve, 5))));
    }
  }
}

async function worker(): Promise<void> {
  while (next < race.operations && !isOver) {
    const n = next;
    next += race.replicas;
    await askUntilAnswered(n);
  }
}

await Promise.all(Array.from({ length: 32 }, worker));
await store.stop();
