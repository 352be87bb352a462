import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createStops, type Stops } from '../../../adapters/process/stops.js';
import { createFileEpochMirror } from '../../../adapters/store/file-epoch-mirror.js';
import type { PostgresUsageStore } from '../../../adapters/store/postgres/usage.js';
import type { AccountId } from '../../../core/usage/reservation.js';
import { chainId } from '../../conformance/usage-requests.js';
import { startPostgres, type PostgresServer } from '../../support/postgres.js';
import { seedOfRun } from '../../support/property.js';
import { isSoak } from '../../support/soak-seconds.js';
import { until } from '../../support/until.js';
import { openStore } from './postgres-usage.js';
import { tallyOf } from './turmoil-tally.js';
import { holds, kindOf, type Turmoil } from './turmoil.js';
import { aDirectory } from './sqlite-usage.js';

/** `make soak` takes more of everything. */
const turns = isSoak ? 100_000 : 500;
const kills = isSoak ? 100 : 1;
const stops = isSoak ? 20 : 1;
const patienceMs = isSoak ? 3_000_000 : 200_000;
/** Of all that can be answered, this has to be. */
const wanted = ['limit', 'held', 'suspended', 'commit reserved'];
const child = fileURLToPath(new URL('./turmoil-child.js', import.meta.url));

let ends: Stops;
let server: PostgresServer;
let url: string;
let directory: ReturnType<typeof aDirectory>;
let turmoil: Turmoil;
let started: { readonly process: ChildProcess; readonly output: string }[];
beforeEach(async () => {
  ends = createStops();
  started = [];
  directory = aDirectory();
  ends.add(directory.remove);
  server = await startPostgres();
  ends.add(() => server.stop());
  url = await server.createDatabase();
  // Makes the tables.
  await (await openStore(url)).stop();
  turmoil = { url, mirror: join(directory.path, 'mirror'), seed: seedOfRun() };
  writeFileSync(join(directory.path, 'turmoil.json'), JSON.stringify(turmoil));
  ends.add(() => started.forEach(({ process }) => process.kill('SIGKILL')));
});
afterEach(() => ends.run());

test(
  'turns, steps and deletions of three processes overlap without a deadlock, and none of them misses a row',
  async () => {
    const running = [start(), start(), start()];
    await until(
      'enough turns were taken',
      async () => {
        expect(await deadlocks()).toBe(0);
        return (await turnsTaken()) >= turns;
      },
      patienceMs,
    );
    await everythingHappens();
    await endAll(running);
    expect(await deadlocks()).toBe(0);
    await expectEverything();
  },
  2 * patienceMs,
);

test(
  'whatever is killed or stopped in the midst, no promise is missing and none counts twice',
  async () => {
    const running = [start(), start(), start()];
    for (let nth = 0; nth < Math.max(kills, stops); nth++) {
      if (nth < kills) {
        await progress();
        await server.kill();
        await server.start();
        await progress();
        const victim = nth % running.length;
        await kill(running[victim]!, 'SIGKILL');
        running[victim] = start();
        const { output } = started.at(-1)!;
        await until('it takes part', () => readFileSync(output, 'utf8').includes('started'), patienceMs);
      }
      if (nth < stops) await stopInsideATurn(running);
    }
    await everythingHappens();
    await endAll(running);
    const { unanswered } = await expectEverything();
    expect(unanswered.has('USAGE_STORE_DOWN')).toBe(true);
  },
  2 * patienceMs,
);

function start(): ChildProcess {
  const number = started.length;
  const output = join(directory.path, `process-${number}`);
  const file = openSync(output, 'w');
  const args = ['--no-warnings', child, join(directory.path, 'turmoil.json'), String(number)];
  const process_ = spawn(process.execPath, args, { stdio: ['ignore', file, 'inherit'] });
  closeSync(file);
  started.push({ process: process_, output });
  return process_;
}

async function kill(running: ChildProcess, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
  const ended = once(running, 'exit');
  running.kill(signal);
  const [code, by] = await ended;
  expect([code, by]).toEqual(signal === 'SIGKILL' ? [null, 'SIGKILL'] : [0, null]);
}

async function endAll(running: readonly ChildProcess[]): Promise<void> {
  await Promise.all(running.map((one) => kill(one, 'SIGTERM')));
}

/** Turns that were committed: each raises its writer's row. */
async function turnsTaken(): Promise<number> {
  const [row] = await server.query(url, 'SELECT coalesce(sum(sequence), 0) AS turns FROM usage.writer');
  return Number(row?.['turns']);
}

async function progress(): Promise<void> {
  let before: number | undefined;
  await until(
    'others go on',
    async () => {
      const now = await turnsTaken().catch(() => undefined);
      before ??= now;
      return now !== undefined && now >= before! + 50;
    },
    patienceMs,
  );
}

/** No matter how fast the machine is: what the dice bring seldom is waited for. */
async function everythingHappens(): Promise<void> {
  await until(
    'each outcome was answered, and a step that ended a promise was taken back',
    async () => {
      const answered = new Set(linesOf('~'));
      if (!wanted.every((outcome) => answered.has(outcome))) return false;
      const [row] = await server.query(
        url,
        `SELECT EXISTS (SELECT FROM ledger.settlement WHERE kind = 'reversal') AS found`,
      );
      return row?.['found'] === true && linesOf('+').length > kills * 20;
    },
    patienceMs,
  );
}

/** What processes have written so far of one kind, without its mark. */
function linesOf(kind: string): readonly string[] {
  return started
    .flatMap(({ output }) => readFileSync(output, 'utf8').split('\n').slice(0, -1))
    .filter((line) => line.startsWith(kind))
    .map((line) => line.slice(1));
}

async function deadlocks(): Promise<number> {
  const [row] = await server.query(url, 'SELECT sum(deadlocks) AS deadlocks FROM pg_stat_database');
  return Number(row?.['deadlocks']);
}

/** Stops a process while the server waits for the rest of its turn; the others go on before it does. */
async function stopInsideATurn(running: readonly ChildProcess[]): Promise<void> {
  const turnsOpen = async () => {
    const rows = await server.query(
      url,
      `SELECT pid, state_change FROM pg_stat_activity WHERE state = 'idle in transaction'`,
    );
    return rows.map((row) => JSON.stringify(row));
  };
  let tries = 0;
  await until('a process is stopped inside a turn', async () => {
    const one = running[(tries += 1) % running.length]!;
    one.kill('SIGSTOP');
    try {
      // Of the others no turn is open for so long.
      const before = await turnsOpen();
      const taken = await turnsTaken();
      await until('some turns are taken', async () => (await turnsTaken()) >= taken + 5, patienceMs);
      const open = (await turnsOpen()).filter((turn) => before.includes(turn));
      if (open.length === 0) return false;
      await progress();
      return true;
    } finally {
      one.kill('SIGCONT');
    }
  });
  await progress();
}

/** The ledger, the rows and what processes were told agree, and no limit is passed. */
async function expectEverything() {
  const store = await openStore(url, {
    identity: 'observer',
    epochMirror: createFileEpochMirror(turmoil.mirror),
  });
  try {
    await until('commits that were never finalized are over', async () => {
      await store.dropCommits(chainId);
      return (await store.reservations(chainId)).every(({ promises }) => promises.length > 0);
    });
    return await compare(store);
  } finally {
    await store.stop();
  }
}

const nameOf = ({ contract, fundingAddress }: AccountId) => `${contract}/${fundingAddress ?? ''}`;

async function compare(store: PostgresUsageStore) {
  const decisions = await server.query(url, 'SELECT * FROM ledger.decision');
  const endings = await server.query(url, 'SELECT * FROM ledger.settlement');
  const tally = tallyOf(decisions, endings);
  const live = await store.reservations(chainId);

  const stored = new Set([...decisions, ...endings].map(({ id }) => id));
  const acknowledged = [...linesOf('+'), ...linesOf('!')];
  expect(acknowledged.filter((id) => !stored.has(id))).toEqual([]);
  expect(new Set(acknowledged).size).toBe(acknowledged.length);

  expect(new Set(live.map(({ recordId }) => recordId))).toEqual(new Set(tally.live.keys()));
  const held = new Map(
    live.map(({ recordId, limits }) => [recordId, new Map(limits.map((one) => [one.counter, one.cost]))]),
  );
  for (const [name, shares] of tally.live) expect(held.get(name)).toEqual(shares);

  const names = [...tally.counters.keys()];
  const states = await store.counters(
    chainId,
    names.map((counter) => ({ counter, unit: kindOf(counter).unit })),
  );
  expect(new Map(names.map((name, i) => [name, states[i]]))).toEqual(tally.counters);
  expect(
    names.filter((name, i) => {
      const { used, reserved } = states[i]!;
      return used + reserved > kindOf(name).threshold;
    }),
  ).toEqual([]);
  expect(await store.counters(chainId, holds)).toEqual(
    holds.map(({ counter }) => ({
      used: 0,
      reserved: live
        .flatMap((one) => one.holds.filter((hold) => hold.counter === counter))
        .reduce((sum, { cost }) => sum + cost, 0),
    })),
  );
  for (const account of await store.accounts(chainId)) {
    const needs = live.flatMap((one) => one.accounts.filter((need) => nameOf(need) === nameOf(account)));
    expect(account.reserved).toBe(needs.reduce((sum, { need }) => sum + need, 0));
  }

  const count = (texts: readonly string[]) => Map.groupBy(texts, (text) => text);
  const [unanswered, refused] = [count(linesOf('?')), count(linesOf('~'))];
  // A server that is killed loses nothing, and nobody takes it for a loss.
  const known = ['DEPOSIT_UNKNOWN', 'USAGE_STORE_BUSY', 'USAGE_STORE_DOWN'];
  expect([...unanswered.keys()].filter((reason) => !known.includes(reason))).toEqual([]);
  const sizes = (of: ReadonlyMap<string, readonly string[]>) =>
    Object.fromEntries([...of].map(([text, { length }]) => [text, length]));
  console.info(
    JSON.stringify({
      seed: turmoil.seed,
      processes: started.length,
      turns: await turnsTaken(),
      promises: linesOf('+').length,
      endings: endings.length,
      reversals: endings.filter(({ kind }) => kind === 'reversal').length,
      live: live.length,
      unanswered: sizes(unanswered),
      refused: sizes(refused),
    }),
  );
  return { unanswered };
}
