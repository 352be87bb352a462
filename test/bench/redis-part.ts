import { reserveScript } from '../../adapters/usage/redis/reserve-script.js';
import { startRedis } from '../support/redis.js';
import type { RequestShape, Wallets } from './fixture.js';
import type { BenchOptions } from './options.js';
import { counted, RedisCounts, type SentCommand } from './redis-counts.js';
import { judge, replicas, type RedisResult, type RoundTrips, type Row } from './redis-goals.js';
import { median } from './statistics.js';
import { Subject, type Load, type Target } from './subject-process.js';
import { verifySubject } from './verify.js';

const shape: RequestShape = { calls: 1, paymasters: 10 };
const recordedRequests = 3000;

/**
 * The usage store on Redis: one redis-server, started here, that syncs every write to disk as production must. Our server
 * against the limit that runs the same script, three replicas against one, and eight limits against two, interleaved.
 */
export async function measureRedis(options: BenchOptions, load: Load): Promise<RedisResult> {
  // A rewrite of the file during the run would affect one window and not its neighbour.
  const redis = await startRedis(['--auto-aof-rewrite-percentage', '0']);
  const counts = new RedisCounts(redis.url);
  const limit = new Subject('limit', 'servers/limit.js', ['--redis', redis.url, '--prefix', 'bench-base:']);
  const madeAt = Date.now();
  const ours = (name: string, limits: number, prefix: string, wallets: Wallets = 'own'): Subject => {
    const store = ['--redis', redis.url, '--prefix', prefix, '--madeAt', String(madeAt)];
    const served = ['--paymasters', '10', '--limits', String(limits), '--wallets', wallets];
    return new Subject(name, 'servers/ours.js', [...served, ...store]);
  };
  const one = ours('ours', 2, 'bench-ours:');
  const eight = ours('ours, 8 limits', 8, 'bench-many:');
  const more = Array.from({ length: replicas - 1 }, (_, index) =>
    ours(`replica ${index + 2}`, 2, 'bench-ours:'),
  );
  const shared = ours('ours, one shared wallet', 2, 'bench-pool:', 'shared');
  const subjects = [limit, one, eight, shared, ...more];
  try {
    await Promise.all(subjects.map((subject) => subject.start()));
    for (const { name, port } of subjects) await verifySubject(name, port, shape, 1);
    const trips = {
      limit: await roundTrips(counts, load, limit),
      ours: await roundTrips(counts, load, one),
      shared: await roundTrips(counts, load, shared),
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

/** The replicas of one service: connections go to each in turn, and their costs are added up. */
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

/** The commands that clients send to Redis while that many requests are answered, in an untimed window. */
async function roundTrips(counts: RedisCounts, load: Load, subject: Subject): Promise<RoundTrips> {
  const sent = await counts.record(() => load.warmUp(subject, shape, recordedRequests));
  const isReserve = ({ words }: SentCommand) =>
    words[0]?.toLowerCase() === 'evalsha' && words[1] === reserveScript.sha;
  const reserves = sent.filter(isReserve);
  return {
    reserve: reserves.length / recordedRequests,
    all: sent.length / recordedRequests,
    words: median(reserves.map(wordsPerRequest)),
  };
}

/** Words that each request adds to a reserve call, beyond the words that every call begins with. */
function wordsPerRequest({ words }: SentCommand): number {
  const [name, script, keys, ...rest] = words;
  // Keys: head and expiries. Arguments: head and the terms, which begin with the number of requests.
  const [requests] = JSON.parse(rest[Number(keys) + 5] ?? '') as readonly [number];
  return (words.length - [name, script, keys].length - 5 - 6) / requests;
}
