import { execFileSync, fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { createSqliteUsageStore } from '../../../adapters/store/sqlite/usage.js';
import { silentLogger } from '../../../core/log.js';
import { systemClock } from '../../../core/units/time.js';
import { chainId } from '../../conformance/usage-requests.js';
import { keyOfNumber } from './crash-requests.js';
import type { Said, Told } from './full-disk-child.js';
import { until } from '../../support/until.js';
import { aDirectory } from './sqlite-usage.js';

// The operating system refuses to make files of the embedded store larger, as on a full disk, and allows it again later. Needs `prlimit`
// of Linux, which changes the bound of a process that runs.

const child = fileURLToPath(new URL('./full-disk-child.js', import.meta.url));
const roomBytes = 1_500_000;
const atOnce = 50;

test('while the disk is full nothing is signed and nothing is lost; once there is room, the same process goes on', async () => {
  const directory = aDirectory();
  const path = join(directory.path, 'usage.db');
  const running = await startBounded(path);
  const acknowledged: number[] = [];
  let next = 0;
  /** Asks for the next operations, one turn of the event loop for all. */
  const askMore = async (): Promise<Said> => {
    const numbers = Array.from({ length: atOnce }, () => next++);
    const said = await ask(running, { numbers });
    acknowledged.push(...numbers.filter((_, i) => said.answers[i] === 'reserved'));
    return said;
  };
  try {
    let refusedTurns = 0;
    // A checkpoint may make room for some further turns.
    await until('the disk is full for good', async () => {
      const { answers } = await askMore();
      for (const one of answers) expect(['reserved', down]).toContain(one);
      refusedTurns = answers.every((one) => one === down) ? refusedTurns + 1 : 0;
      return refusedTurns === 20;
    });
    expect(acknowledged.length).toBeGreaterThan(atOnce);
    expect(running.exitCode).toBeNull();

    execFileSync('prlimit', [`--pid=${running.pid}`, '--fsize=unlimited']);
    await until('it goes on', async () => (await askMore()).answers.every((one) => one === 'reserved'));
    const { live } = await askMore();
    expect(live).toBe(acknowledged.length);
  } finally {
    running.disconnect();
    await once(running, 'exit');
  }
  const store = createSqliteUsageStore({ path, clock: systemClock, log: silentLogger, durability: 'power' });
  const kept = (await store.reservations(chainId)).map(({ key }) => key.paymasterId);
  await store.stop();
  directory.remove();
  expect(kept.toSorted()).toEqual(acknowledged.map((n) => keyOfNumber(n).paymasterId).toSorted());
}, 600_000);

const down = 'UNAVAILABLE USAGE_STORE_DOWN';

/** Node ignores the signal that comes with such a refusal, so a write fails with EFBIG. */
async function startBounded(path: string): Promise<ChildProcess> {
  const started = fork(child, [path], {
    execPath: 'prlimit',
    execArgv: [`--fsize=${roomBytes}:unlimited`, process.execPath, '--no-warnings'],
  });
  await once(started, 'message');
  return started;
}

async function ask(running: ChildProcess, told: Told): Promise<Said> {
  const answer = once(running, 'message');
  running.send(told);
  const [said] = (await answer) as [Said];
  return said;
}
