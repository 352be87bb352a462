import { closeSync, fsyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startPostgres, type PostgresServer } from '../support/postgres.js';
import { BenchProcess } from './child-process.js';
import type { RequestShape } from './fixture.js';
import type { Goal } from './goals.js';
import { measureInTurn } from './measure-in-turn.js';
import type { BenchOptions } from './options.js';
import { together } from './postgres-part.js';
import { median, percentile, ratio, summarise } from './statistics.js';
import { Subject, type Load, type Measurement } from './subject-process.js';

export type StoreResult = { readonly goals: readonly Goal[] };

const spread: RequestShape = { calls: 1, paymasters: 10 };
const hot: RequestShape = { calls: 1, paymasters: 1 };
const recorded = ['--ledger'];
const rate = (window: Measurement) => window.requestsPerSecond;
const cpu = (window: Measurement) => window.cpuMicros;
/** Of windows that are twice as long as others, or of which no narrow bound is asked. */
const roundsOf = ({ repeats }: BenchOptions) => Math.min(repeats, 3);
/** Sponsorships of which the bytes are counted, one at a time and in all. */
const counted = { alone: 1_000, together: 200_000 };

/** What the store costs with everything on: limits and ledger. Both databases, against the limit and against each other. */
export async function measureStore(options: BenchOptions, load: Load): Promise<StoreResult> {
  const postgres = await startPostgres({ folder: tmpdir() });
  try {
    const goals = [
      ...(await measureEmbedded(options, load, await postgres.createDatabase())),
      ...(await measureSize(options, load)),
      ...(await measureShared(options, load, postgres)),
    ];
    return { goals };
  } finally {
    await postgres.stop();
  }
}

async function measureEmbedded(options: BenchOptions, load: Load, url: string): Promise<readonly Goal[]> {
  const madeAt = String(Date.now());
  const ours = (name: string, ...args: string[]) =>
    new Subject(name, 'servers/ours.js', ['--madeAt', madeAt, ...recorded, ...args]);
  const stores = () => ({
    full: ours('embedded, FULL', '--durability', 'power'),
    postgres: ours('PostgreSQL', '--postgres', url),
  });
  const windows = <Name extends string>(
    concurrency: number,
    rounds: number,
    makeSubjects: () => Readonly<Record<Name, Subject>>,
  ) =>
    measureInTurn(makeSubjects, {
      rounds,
      shape: spread,
      measure: (subject) => load.measure(subject, { shape: spread, concurrency, seconds: options.seconds }),
    });
  const { limit, full, normal, postgres } = await windows(32, options.repeats, () => ({
    limit: new Subject('limit', 'servers/limit.js'),
    normal: ours('embedded, NORMAL'),
    ...stores(),
  }));
  const alone = await windows(1, roundsOf(options), stores);
  const goal = (name: string, value: number, required?: Goal['required']): Goal => ({
    name: `${name}, ledger on`,
    value,
    unit: 'ratio',
    ...(required === undefined ? {} : { required }),
  });
  return [
    goal('embedded FULL: requests/s ÷ limit, c=32', ratio(full, limit, rate), { atLeast: 0.45 }),
    goal('embedded NORMAL: requests/s ÷ limit, c=32', ratio(normal, limit, rate), { atLeast: 0.55 }),
    goal('embedded FULL: CPU per request ÷ limit, c=32', ratio(full, limit, cpu), { atMost: 2.8 }),
    goal('embedded NORMAL: CPU per request ÷ limit, c=32', ratio(normal, limit, cpu), { atMost: 2.2 }),
    goal('PostgreSQL ÷ embedded FULL: CPU per request of a replica, c=32', ratio(postgres, full, cpu), {
      atMost: 1.6,
    }),
    goal(
      'PostgreSQL ÷ embedded FULL: CPU per request of a replica, c=1',
      ratio(alone.postgres, alone.full, cpu),
    ),
  ];
}

async function measureSize({ count }: BenchOptions, load: Load): Promise<readonly Goal[]> {
  const [all, one] = [count(counted.together), count(counted.alone)];
  const subject = new Subject('embedded, FULL', 'servers/ours.js', [...recorded, '--durability', 'power']);
  try {
    await subject.start();
    await load.warmUp(subject, spread, all);
    const { residentBytes, ledgerBytes } = await subject.report(true);
    await load.warmUp(subject, spread, one, 1);
    const alone = ((await subject.report(true)).ledgerBytes - ledgerBytes) / one;
    const bytes = (turn: string, value: number): Goal => ({
      name: `embedded: bytes of the ledger per sponsorship, ${turn}`,
      value,
      unit: 'bytes',
      required: { atMost: 4_096 },
    });
    return [
      {
        name: `resident memory after ${all.toLocaleString('en')} sponsorships, ledger on`,
        value: residentBytes,
        unit: 'MiB',
        required: { atMost: 400 * 2 ** 20 },
      },
      bytes('many a turn', ledgerBytes / all),
      bytes('1 a turn', alone),
    ];
  } finally {
    await subject.stop();
  }
}

const replicas = 3;
const signedPerSecond = 800;
/** More than the follower ends in a window. */
const mostEnded = 20_000;

async function measureShared(
  options: BenchOptions,
  load: Load,
  postgres: PostgresServer,
): Promise<readonly Goal[]> {
  const url = await postgres.createDatabase();
  const served = ['--limits', '3', ...recorded, '--postgres', url, '--madeAt', String(Date.now())];
  const subjects = Array.from(
    { length: replicas },
    (_, index) => new Subject(`replica ${index + 1}`, 'servers/ours.js', served),
  );
  const follower = new BenchProcess('follower', 'servers/endings.js', ['--postgres', url]);
  const seconds = 2 * options.seconds;
  const backlog = options.count(mostEnded);
  try {
    for (const subject of subjects) await subject.start();
    await follower.receive();
    const [first] = subjects;
    const all = together('3 replicas', subjects);
    const at = (perSecond: number) => load.measure(all, { shape: hot, concurrency: 32, seconds, perSecond });
    await load.warmUp(all, hot, options.count(5_000));
    const rounds = roundsOf(options);
    const busy: Measurement[] = [];
    const steady: Measurement[] = [];
    const single: Measurement[] = [];
    for (let round = 0; round < rounds; round++) {
      busy.push(await load.measure(all, { shape: hot, concurrency: 32, seconds }));
      steady.push(await at(signedPerSecond));
      single.push(await load.measure(first!, { shape: spread, concurrency: 1, seconds }));
    }
    const trips = await roundTripMs(url);
    const synced = fsyncMs();
    const floor = 3 * trips + synced;
    const single50 = summarise(single).p50Ms;

    const grown = async (count: number, concurrency: number) => {
      const before = await ledgerBytes(url);
      await load.warmUp(concurrency === 1 ? first! : all, spread, count, concurrency);
      return ((await ledgerBytes(url)) - before) / count;
    };
    const bytesAlone = await grown(options.count(counted.alone), 1);
    const bytesTogether = await grown(backlog, 32);
    const withEndings = async (measure: () => Promise<Measurement>) => {
      const live = (await follower.ask({ live: true })) as number;
      if (live < backlog) await load.warmUp(all, spread, backlog - live);
      const ending = follower.ask({ seconds: seconds + 1 }) as Promise<{ ended: number; seconds: number }>;
      const window = await measure();
      const { ended, seconds: took } = await ending;
      return { window, endings: ended / took };
    };
    const without: Measurement[] = [];
    const beside: Measurement[] = [];
    const calm: { readonly window: Measurement; readonly endings: number }[] = [];
    for (let round = 0; round < rounds; round++) {
      const measure = () => load.measure(all, { shape: spread, concurrency: 32, seconds });
      without.push(await measure());
      beside.push((await withEndings(measure)).window);
      calm.push(await withEndings(() => at(signedPerSecond)));
    }
    const goal = (name: string, value: number, unit: Goal['unit'], required?: Goal['required']): Goal => ({
      name: `PostgreSQL, ledger on: ${name}`,
      value,
      unit,
      ...(required === undefined ? {} : { required }),
    });
    const besideSteady = calm.map(({ window }) => window);
    const windows = [...busy, ...steady, ...single, ...beside, ...without, ...besideSteady];
    const errors = windows.reduce((sum, one) => sum + one.errors, 0);
    return [
      goal('errors in all windows', errors, 'count', { atMost: 0 }),
      goal('requests/s of 3 replicas, one paymaster, 3 limits', summarise(busy).requestsPerSecond, 'count', {
        atLeast: 1_200,
      }),
      goal('p99 at 800 requests/s, one paymaster', summarise(steady).p99Ms, 'ms', { atMost: 60 }),
      goal(
        'endings per second beside signing at 800/s',
        median(calm.map(({ endings }) => endings)),
        'count',
        {
          atLeast: 1_000,
        },
      ),
      goal('requests/s beside endings, at 800/s', summarise(besideSteady).requestsPerSecond, 'count'),
      goal(
        'requests/s beside endings ÷ without, as fast as possible',
        ratio(beside, without, rate),
        'ratio',
        { atLeast: 0.75 },
      ),
      goal('p50, one at a time, above 3 round trips and an fsync', single50 - floor, 'ms', { atMost: 2 }),
      goal('p50, one at a time', single50, 'ms'),
      goal('bytes of the ledger per sponsorship, many a turn', bytesTogether, 'bytes', { atMost: 4_096 }),
      goal('bytes of the ledger per sponsorship, 1 a turn', bytesAlone, 'bytes', { atMost: 4_096 }),
    ];
  } finally {
    await follower.stop();
    await Promise.all(subjects.map((subject) => subject.stop()));
  }
}

async function ledgerBytes(url: string): Promise<number> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<{ bytes: string }>(
    `SELECT sum(pg_total_relation_size(c.oid)) AS bytes FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
     WHERE nspname = 'ledger' AND relkind IN ('r', 'S')`,
  );
  await client.end();
  return Number(rows[0]?.bytes);
}

async function roundTripMs(url: string): Promise<number> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const times: number[] = [];
  for (let n = 0; n < 300; n++) {
    const begun = performance.now();
    await client.query({ name: 'trip', text: 'SELECT 1' });
    times.push(performance.now() - begun);
  }
  await client.end();
  return percentile(times, 0.5);
}

/** Of a page, where the database is. */
function fsyncMs(): number {
  const folder = mkdtempSync(join(tmpdir(), 'fsync-'));
  const file = openSync(join(folder, 'page'), 'w');
  const times: number[] = [];
  for (let n = 0; n < 100; n++) {
    const begun = performance.now();
    writeSync(file, Buffer.alloc(8_192, n));
    fsyncSync(file);
    times.push(performance.now() - begun);
  }
  closeSync(file);
  rmSync(folder, { recursive: true });
  return percentile(times, 0.5);
}
