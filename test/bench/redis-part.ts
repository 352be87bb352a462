import { reserveScript } from '../../core/adapters/store/redis/reserve-script.js';
import { startRedis } from '../support/redis.js';
import type { RequestShape } from './fixture.js';
import { renderTable, type Goal } from './goals.js';
import type { BenchOptions } from './options.js';
import { RedisCounts, type SentCommand } from './redis-counts.js';
import { median, ratio, summarise, type Summary } from './statistics.js';
import { Subject, type Load, type Measurement, type Target } from './subject-process.js';
import { verifySubject } from './verify.js';

export type RedisResult = {
  readonly summaries: Readonly<Record<string, { readonly c32: Summary; readonly c1?: Summary }>>;
  readonly goals: readonly Goal[];
};

type Row = { readonly target: Target; readonly busy: Measurement[]; readonly single: Measurement[] };
/** Commands of clients per request answered: the reserve script, everything, and arguments of one reserve call. */
type RoundTrips = { readonly reserve: number; readonly all: number; readonly words: number };

const shape: RequestShape = { calls: 1, paymasters: 10 };
const replicas = 3;
const recordedRequests = 3000;

/**
 * The usage store on Redis: one redis-server, started here, that syncs every write to disk as production must. Our server
 * against the limit that runs the same script, three replicas against one, and eight limits against two, interleaved.
 */
export async function measureRedis(options: BenchOptions, load: Load): Promise<RedisResult> {
  // A rewrite of the file in the midst would hit one window and not its neighbour.
  const redis = await startRedis(['--auto-aof-rewrite-percentage', '0']);
  const counts = new RedisCounts(redis.url);
  const limit = new Subject('limit', 'servers/limit.js', ['--redis', redis.url, '--prefix', 'bench-base:']);
  const madeAt = Date.now();
  const ours = (name: string, limits: number, prefix: string): Subject => {
    const store = ['--redis', redis.url, '--prefix', prefix, '--madeAt', String(madeAt)];
    return new Subject(name, 'servers/ours.js', ['--paymasters', '10', '--limits', String(limits), ...store]);
  };
  const one = ours('ours', 2, 'bench-ours:');
  const eight = ours('ours, 8 limits', 8, 'bench-many:');
  const more = Array.from({ length: replicas - 1 }, (_, index) =>
    ours(`replica ${index + 2}`, 2, 'bench-ours:'),
  );
  const subjects = [limit, one, eight, ...more];
  try {
    await Promise.all(subjects.map((subject) => subject.start()));
    for (const { name, port } of subjects) await verifySubject(name, port, shape, 1);
    const trips = {
      limit: await roundTrips(counts, load, limit),
      ours: await roundTrips(counts, load, one),
    };
    const rows = [limit, one, together(`ours, ${replicas} replicas`, [one, ...more]), eight].map(
      (target): Row => ({ target: counted(target, counts), busy: [], single: [] }),
    );
    const measure = (target: Target, concurrency: number, seconds: number) =>
      load.measure(target, { shape, concurrency, seconds });
    for (const { target } of rows) await measure(target, 32, options.seconds);
    for (let round = 0; round < options.repeats; round += 1) {
      for (const { target, busy } of rows) busy.push(await measure(target, 32, options.seconds));
      for (const { target, single } of rows.slice(0, 2))
        single.push(await measure(target, 1, options.seconds / 2));
    }
    return judge(rows, trips);
  } finally {
    await Promise.all(subjects.map((subject) => subject.stop()));
    counts.stop();
    await redis.stop();
  }
}

/** The replicas of one service: connections go to each in turn, and what they spend is added up. */
function together(name: string, subjects: readonly Subject[]): Target {
  return {
    name,
    ports: subjects.flatMap(({ ports }) => ports),
    report: async () => {
      const reports = await Promise.all(subjects.map((subject) => subject.report()));
      const sum = (figure: (report: (typeof reports)[number]) => number) =>
        reports.reduce((total, report) => total + figure(report), 0);
      return {
        cpuMicros: sum(({ cpuMicros }) => cpuMicros),
        counts: { chainCalls: sum((report) => report.counts['chainCalls'] ?? 0) },
      };
    },
  };
}

/** The same target; what Redis counts meanwhile is counted with it. */
function counted(target: Target, redis: RedisCounts): Target {
  return {
    name: `${target.name} on Redis`,
    ports: target.ports,
    report: async () => {
      const report = await target.report();
      return { ...report, counts: { ...report.counts, ...(await redis.read()) } };
    },
  };
}

/** What clients send to Redis while that many requests are answered, in a window that is not timed. */
async function roundTrips(counts: RedisCounts, load: Load, subject: Subject): Promise<RoundTrips> {
  const sent = await counts.record(() => load.warmUp(subject, shape, recordedRequests));
  const isReserve = ({ words }: SentCommand) =>
    words[0]?.toLowerCase() === 'evalsha' && words[1] === reserveScript.sha;
  const reserves = sent.filter(isReserve);
  return {
    reserve: reserves.length / recordedRequests,
    all: sent.length / recordedRequests,
    words: median(reserves.map(({ words }) => words.length)),
  };
}

function judge(rows: readonly Row[], trips: Readonly<Record<'limit' | 'ours', RoundTrips>>): RedisResult {
  const [limit, ours, three, eight] = rows;
  if (limit === undefined || ours === undefined || three === undefined || eight === undefined)
    throw new Error('four targets');
  const summaries = Object.fromEntries(
    rows.map(({ target, busy, single }) => [
      target.name,
      { c32: summarise(busy), ...(single.length === 0 ? {} : { c1: summarise(single) }) },
    ]),
  );
  console.log(`\n${render(rows)}`);

  const rate = (window: Measurement) => window.requestsPerSecond;
  const cpu = (window: Measurement) => window.cpuMicros;
  const p99 = (window: Measurement) => window.p99Ms;
  const all = rows.flatMap(({ busy, single }) => [...busy, ...single]);
  const counted = summarise([...ours.busy, ...ours.single]).countsPerRequest;
  const goal = (name: string, value: number, required?: Goal['required']): Goal => ({
    name: `Redis: ${name}`,
    value,
    unit: 'ratio',
    ...(required === undefined ? {} : { required }),
  });
  const count = (name: string, value: number, atMost: number): Goal => ({
    ...goal(name, value, { atMost }),
    unit: 'count',
  });
  return {
    summaries,
    goals: [
      count('errors in all windows', summarise(all).errors, 0),
      count(
        'words of a reserve call more than the limit sends (validity)',
        trips.ours.words - trips.limit.words,
        0,
      ),
      goal('requests/s ÷ limit with the same script, c=32', ratio(ours.busy, limit.busy, rate), {
        atLeast: 0.7,
      }),
      goal('CPU per request ÷ limit, c=32', ratio(ours.busy, limit.busy, cpu)),
      goal('p99 ÷ limit, c=32', ratio(ours.busy, limit.busy, p99)),
      goal('requests/s ÷ limit, c=1', ratio(ours.single, limit.single, rate)),
      goal('p99 ÷ limit, c=1', ratio(ours.single, limit.single, p99)),
      count('round trips of a request', trips.ours.reserve, 1),
      count('commands per request, background included', trips.ours.all, 1.05),
      count(
        'scripts per request by INFO commandstats (largest window)',
        counted['evalsha'] ?? Number.NaN,
        1.05,
      ),
      count('calls to the chain per request', counted['chainCalls'] ?? Number.NaN, 0),
      goal(`req/s of ${replicas} replicas ÷ 1, on one machine`, ratio(three.busy, ours.busy, rate)),
      goal('req/s of 8 limits ÷ 2', ratio(eight.busy, ours.busy, rate)),
    ],
  };
}

function render(rows: readonly Row[]): string {
  const cells = rows.flatMap(({ target, busy, single }) =>
    [
      { concurrency: '32', windows: busy },
      { concurrency: '1', windows: single },
    ]
      .filter(({ windows }) => windows.length > 0)
      .map(({ concurrency, windows }) => {
        const summary = summarise(windows);
        const inRedis = (name: string) =>
          median(windows.map(({ countsPerRequest }) => countsPerRequest[name] ?? 0));
        return [
          target.name,
          concurrency,
          summary.requestsPerSecond.toFixed(0),
          summary.cpuMicros.toFixed(1),
          inRedis('redisMicros').toFixed(1),
          inRedis('scriptMicros').toFixed(1),
          inRedis('evalsha').toFixed(3),
          summary.p50Ms.toFixed(2),
          summary.p99Ms.toFixed(2),
          String(summary.requests),
          String(summary.errors),
          summary.firstError?.slice(-160) ?? '',
        ];
      }),
  );
  const head = [
    'server',
    'c',
    'req/s',
    'CPU µs/req',
    'Redis µs/req',
    'script µs',
    'evalsha/req',
    'p50 ms',
    'p99 ms',
  ];
  return renderTable([...head, 'requests', 'errors', ''], cells);
}
