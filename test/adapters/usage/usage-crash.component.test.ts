import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { createSqliteUsageStore } from '../../../adapters/store/sqlite/usage.js';
import type { SqliteUsageStore } from '../../../adapters/store/sqlite/usage.js';
import { silentLogger } from '../../../core/log.js';
import { createMemoryEpochMirror } from '../../../core/usage/epoch.js';
import { systemClock } from '../../../core/units/time.js';
import { written } from '../../conformance/step-records.js';
import { chainId } from '../../conformance/usage-requests.js';
import {
  actualCost,
  costOf,
  decisionOf,
  eachCounter,
  liveCounterOf,
  lossesCounter,
  settlementOf,
  spendCounter,
  turnSize,
} from './crash-requests.js';
import { isSoak } from '../../support/soak-seconds.js';
import { aDirectory } from './sqlite-usage.js';
import { recordsInFile } from './written-records.js';

const child = fileURLToPath(new URL('./crash-child.js', import.meta.url));
const killsEach = isSoak ? 52 : 6;

/** The log of the processes, and the parts of it that must be true after a kill. */
class Log {
  readonly acknowledged = new Set<number>();
  readonly asked = new Set<number>();
  readonly steps = new Map<number, readonly number[]>();
  lastStep = 0;
  next = 0;

  add(line: string): void {
    const numbers = line.slice(1).split(' ').map(Number);
    const [a = 0, b = 0] = numbers;
    if (line.startsWith('?')) for (let n = a; n < b; n++) this.asked.add(n);
    if (line.startsWith('?')) this.next = b;
    if (line.startsWith('+')) this.acknowledged.add(a);
    if (line.startsWith('!')) this.steps.set(a, numbers.slice(1));
    if (line.startsWith('=')) this.lastStep = a;
  }

  /** Numbers that steps up to a block have settled. */
  settledUpTo(block: number): ReadonlySet<number> {
    return new Set([...this.steps].flatMap(([number, settled]) => (number <= block ? settled : [])));
  }
}

test.each(['process', 'power'] as const)(
  `what a process has acknowledged before each of ${killsEach} kills is there afterwards, and nothing that it did not ask for (%s)`,
  async (durability) => {
    const directory = aDirectory();
    const path = join(directory.path, 'usage.db');
    const epochMirror = createMemoryEpochMirror();
    const log = new Log();
    let spare = startChild(directory.path, 0);
    try {
      for (let kill = 1; kill <= killsEach; kill++) {
        const running = spare;
        // Its successor loads its modules meanwhile.
        spare = startChild(directory.path, kill);
        // Killed at another point each time, sooner or later.
        const bytes = 300 + ((kill * 7919) % 1700);
        for (const line of await runAndKill(running, `${path} ${durability} ${log.next}`, bytes))
          log.add(line);
        const store = createSqliteUsageStore({
          path,
          clock: systemClock,
          log: silentLogger,
          durability,
          epochMirror,
        });
        await compare(store, log, { path, kill });
        await store.stop();
      }
      expect(log.acknowledged.size).toBeGreaterThan(killsEach * turnSize);
      expect(log.lastStep).toBeGreaterThan(killsEach / 2);
    } finally {
      spare.process.kill('SIGKILL');
      directory.remove();
    }
  },
);

async function compare(
  store: SqliteUsageStore,
  log: Log,
  { path, kill }: { readonly path: string; readonly kill: number },
): Promise<void> {
  const live = await store.reservations(chainId);
  const found = new Map(live.map(({ key, limits }) => [Number(key.nonce), limits[0]?.cost]));
  const block = (await store.cursor(chainId))?.blockNumber ?? 0;
  const settled = log.settledUpTo(block);
  const problems = {
    // A step that was answered is there; one more may have been written before its answer.
    lostSteps: Math.max(0, log.lastStep - block),
    stepsNeverAsked: [...Array(block).keys()].filter((n) => !log.steps.has(n + 1)),
    missing: [...log.acknowledged].filter((n) => !settled.has(n) && found.get(n) !== costOf(n)),
    comeBack: [...settled].filter((n) => found.has(n)),
    neverAsked: [...found.keys()].filter((n) => !log.asked.has(n)),
  };
  expect({ kill, ...problems }).toEqual({
    kill,
    lostSteps: 0,
    stepsNeverAsked: [],
    missing: [],
    comeBack: [],
    neverAsked: [],
  });
  compareRecords(path, [...found.keys(), ...settled], settled);
  const held = [...found.keys()].reduce((sum, n) => sum + costOf(n), 0);
  const [spend, losses] = await store.counters(chainId, [spendCounter, lossesCounter]);
  expect(spend).toEqual({ used: settled.size * actualCost, reserved: held });
  expect(losses).toEqual({ used: block, reserved: 0 });
  const each = (numbers: Iterable<number>) =>
    store.counters(
      chainId,
      [...numbers].flatMap((n) => [eachCounter(n), liveCounterOf(n)]),
    );
  const ofLive = { used: 0, reserved: 1 };
  expect(await each(found.keys())).toEqual([...found.keys()].flatMap(() => [ofLive, ofLive]));
  const gone = { used: 0, reserved: 0 };
  expect(await each(settled)).toEqual([...settled].flatMap(() => [{ used: 1, reserved: 0 }, gone]));
}

/** Every reservation and every settlement that is there has exactly one record, and no others have. */
function compareRecords(path: string, reserved: readonly number[], settled: ReadonlySet<number>): void {
  const wanted = [
    ...reserved.map((n) => written(decisionOf(n), decisionOf(n).id)),
    ...Array.from(settled, (n) => written(settlementOf(n), decisionOf(n).id)),
  ];
  expect(recordsInFile(path)).toEqual(wanted.toSorted((a, b) => (a.id < b.id ? -1 : 1)));
}

type Child = { readonly process: ChildProcess; readonly output: number; readonly outputPath: string };

function startChild(directory: string, number: number): Child {
  const outputPath = join(directory, `lines-${number}`);
  const output = openSync(outputPath, 'w');
  const started = spawn(process.execPath, ['--no-warnings', child], { stdio: ['pipe', output, 'inherit'] });
  return { process: started, output, outputPath };
}

/** Lets the child run until it has written this much, kills it, and answers the complete lines that it wrote. */
async function runAndKill(running: Child, order: string, bytes: number): Promise<readonly string[]> {
  const ended = once(running.process, 'exit');
  running.process.stdin?.write(`${order}\n`);
  while (running.process.exitCode === null && statSync(running.outputPath).size < bytes) await setTimeout(1);
  running.process.kill('SIGKILL');
  const [, signal] = await ended;
  closeSync(running.output);
  expect(signal).toBe('SIGKILL');
  return readFileSync(running.outputPath, 'utf8').split('\n').slice(0, -1);
}
