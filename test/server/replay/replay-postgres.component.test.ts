import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { parsePostgresUrl } from '../../../adapters/postgres/address.js';
import { createPostgresLedger } from '../../../adapters/store/ledger/postgres-ledger.js';
import type { PaymasterConfig } from '../../../core/config/paymaster-config.js';
import { silentLogger } from '../../../core/log.js';
import { noMetrics } from '../../../core/metrics.js';
import { systemClock, type EpochMs } from '../../../core/units/time.js';
import { parseInputs } from '../../../server/decision/inputs-text.js';
import { createRecording } from '../../../server/ledger/recording.js';
import { createInstruments } from '../../../server/ops/instruments.js';
import type { ReplayConfig } from '../../../server/replay/replayer.js';
import { createReplays, type Replays } from '../../../server/replay/replays.js';
import type { ReplayStatus } from '../../../server/replay/status.js';
import type { PostgresUsageStore } from '../../../adapters/store/postgres/usage.js';
import { aClock } from '../../adapters/usage/clock.js';
import { openStore } from '../../adapters/usage/postgres-usage.js';
import { aLimitConfig, someNow } from '../../build/configs.js';
import { aGap } from '../../conformance/ledger-records.js';
import { startPostgres, type PostgresServer } from '../../support/postgres.js';
import { until } from '../../support/until.js';
import { modelOf, plainRounds } from './model.js';
import { idOf, limitedPaymasters, minuteMs, withoutLimits } from './paymasters.js';
import { recordRounds, type Recorded, type Round } from './recorded-world.js';
import type { Said } from './replica-child.js';
import { someRounds } from './replayed.js';

// From decisions to PostgreSQL, and from there back to verdicts; replicas of the dashboard share one ledger.

let postgres: PostgresServer;
beforeAll(async () => {
  postgres = await startPostgres();
}, 120_000);
afterAll(async () => {
  await postgres.stop();
});

/** The same in every run. */
const rounds = fc.sample(someRounds, { seed: 13, numRuns: 12 }).flat();

test('under an unchanged configuration no verdict differs, and decisions without inputs are counted', async () => {
  await using world = await recorded(limitedPaymasters, rounds);
  const { records, url, end } = world;
  const decided = records.flatMap(({ id, body }) => {
    const inputs = parseInputs(body);
    return inputs?.kind === 'decided' ? [{ id, ...inputs }] : [];
  });
  const sponsored = decided.filter(({ verdict }) => verdict.pass).length;
  expect(sponsored).toBeGreaterThan(100);
  expect(decided.length - sponsored).toBeGreaterThan(100);
  const found = await replayed(world, { paymasters: limitedPaymasters, chains: world.chains });
  expect(found).toMatchObject({
    state: 'done',
    done: decided.length,
    result: {
      replayed: decided.length,
      unchanged: { sponsored, refused: decided.length - sponsored, otherReason: 0 },
      newlyRefused: { count: 0 },
      newlySponsored: { count: 0 },
      notReplayed: [],
      missingInputs: 0,
    },
  });

  await postgres.query(
    url,
    'DELETE FROM ledger.inputs WHERE number = (SELECT max(number) FROM ledger.inputs)',
  );
  const [{ organisation, paymasterId, chainId }] = records as [(typeof records)[number]];
  const at = (end - minuteMs) as EpochMs;
  await world.usage.ledger.add([aGap(organisation, at, { paymasterId, chainId, count: 4 })]);
  const { result } = await replayed(world, { paymasters: limitedPaymasters, chains: world.chains });
  const kept = new Set<string>();
  const query = { organisation, paymasterIds: limitedPaymasters.map((one) => one.paymasterId) };
  for await (const page of world.ledger.inputs({ ...query, from: someNow, to: end }))
    for (const record of page) kept.add(record.id);
  // Commits that pass are not counted in usage.
  const missing = decided.filter(
    ({ id, verdict, request }) => !kept.has(id) && !(verdict.pass && request.phase === 'commit'),
  ).length;
  expect(missing).toBeGreaterThan(0);
  expect(result).toMatchObject({ missingInputs: missing + 4 });
}, 240_000);

test('of a tightened limit exactly those are newly refused that a model computes', async () => {
  await using world = await recorded(withoutLimits, plainRounds(rounds));
  const [threshold, durationMs] = [2, 9 * minuteMs];
  const tight = { durationMs, startMs: someNow, threshold: String(threshold) };
  const paymasters = withoutLimits.map((config, n) =>
    n === 1 ? config : { ...config, limits: [aLimitConfig({ ...tight, policyId: `tight ${n}` })] },
  );
  const { result } = await replayed(world, { paymasters, chains: world.chains });
  const expected = [0, 2].flatMap((n) => modelOf(world, idOf(n), threshold, durationMs));
  expect(expected.length).toBeGreaterThan(50);
  expect(result).toMatchObject({
    newlyRefused: { count: expected.length, byReason: [{ reason: 'LIMIT_REACHED', count: expected.length }] },
    newlySponsored: { count: 0 },
    notReplayed: [],
    missingInputs: 0,
  });
  const shown = result!.newlyRefused.examples.map(({ decision }) => decision);
  expect(expected).toEqual(expect.arrayContaining(shown));
}, 240_000);

test('replicas see and cancel the replay of another one, and free its place when it is killed', async () => {
  const url = await postgres.createDatabase();
  const ledger = openLedger(url);
  const here = replaysOver(ledger);
  const child = fork(fileURLToPath(new URL('./replica-child.js', import.meta.url)), [url]);
  try {
    const first = await startIn(child);
    await expect(here.start(empty)).rejects.toMatchObject({
      code: 'REPLAYS_BUSY',
      message: expect.stringContaining(first),
    });
    expect(await here.find('acme', first)).toMatchObject({ state: 'running' });
    expect(await here.find('other', first)).toBeUndefined();
    expect(await here.cancel('other', first)).toBeUndefined();
    for (const id of ['no id', '\0', '']) expect(await here.cancel('acme', id)).toBeUndefined();
    expect(await here.cancel('acme', first)).toMatchObject({ id: first, state: 'cancelled' });

    const second = await startIn(child);
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
    let status: ReplayStatus | undefined;
    await until('the killed replay counts as dead', async () => {
      status = await here.find('acme', second);
      return status?.state !== 'running';
    });
    expect(status).toMatchObject({
      state: 'failed',
      error: 'the process that ran it has ended',
      endedAt: expect.any(Number),
    });
    const { status: third } = await here.start(empty);
    expect(await ended(here, third.id)).toMatchObject({ state: 'done', result: { replayed: 0 } });
    expect(await here.find('acme', second)).toBeUndefined();
  } finally {
    child.kill('SIGKILL');
    await here.stop();
    await ledger.stop();
  }
}, 240_000);

const empty = {
  organisation: 'acme',
  from: 0 as EpochMs,
  to: 60_000 as EpochMs,
  configOf: async () => ({ paymasters: [], chains: [] }),
};

async function startIn(child: ChildProcess): Promise<string> {
  const said = once(child, 'message') as Promise<[Said]>;
  child.send('start');
  const [answer] = await said;
  if ('error' in answer) throw new Error(answer.error);
  return answer.id;
}

function replaysOver(ledger: ReturnType<typeof createPostgresLedger>): Replays {
  return createReplays({ ledger, register: ledger.replays, clock: systemClock, log: silentLogger });
}

type World = Recorded & {
  readonly usage: PostgresUsageStore;
  readonly url: string;
  /** Of the range in which all was recorded. */
  readonly end: EpochMs;
  readonly replicas: readonly [Replays, Replays];
  readonly ledger: ReturnType<typeof openLedger>;
} & AsyncDisposable;

function openLedger(url: string) {
  const retention = { decisions: 3_650, inputs: 3_650, funds: 30 };
  return createPostgresLedger({ address: parsePostgresUrl('url', url), clock: systemClock, retention });
}

/** Decisions that a replica has recorded, in a ledger that two others read. */
async function recorded(paymasters: readonly PaymasterConfig[], asked: readonly Round[]): Promise<World> {
  const url = await postgres.createDatabase();
  const clock = aClock(someNow);
  const usage = await openStore(url, { clock });
  const recording = createRecording({
    ledger: usage.ledger,
    usage,
    clock,
    log: silentLogger,
    instruments: createInstruments(noMetrics),
    recordsInputs: true,
    usdPerNative: () => undefined,
    refusalsPerSecond: 10_000,
  });
  recording.start();
  const written = await recordRounds(paymasters, asked, { store: { usage, clock }, recording });
  const end = (Math.ceil(clock.now() / minuteMs + 2) * minuteMs) as EpochMs;
  await recording.stop();
  const ledgers = [openLedger(url), openLedger(url)] as const;
  const replicas: World['replicas'] = [replaysOver(ledgers[0]), replaysOver(ledgers[1])];
  return {
    ...written,
    usage,
    url,
    end,
    replicas,
    ledger: ledgers[0],
    async [Symbol.asyncDispose]() {
      await Promise.all(replicas.map((replica) => replica.stop()));
      await Promise.all(ledgers.map((ledger) => ledger.stop()));
      await usage.stop();
    },
  };
}

/** What one replica replays, as the other one shows it. */
async function replayed({ replicas: [one, other], end }: World, config: ReplayConfig): Promise<ReplayStatus> {
  const range = { from: someNow, to: end };
  const { status } = await one.start({ organisation: 'acme', configOf: async () => config, ...range });
  return ended(other, status.id);
}

async function ended(replays: Replays, id: string): Promise<ReplayStatus> {
  let status: ReplayStatus | undefined;
  await until('the replay has ended', async () => {
    status = await replays.find('acme', id);
    return status?.state !== 'running';
  });
  if (status === undefined) throw new Error('the replay is not known');
  return status;
}
