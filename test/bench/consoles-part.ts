import { tmpdir } from 'node:os';
import { startPostgres } from '../support/postgres.js';
import { BenchProcess } from './child-process.js';
import type { ConsoleOrder, ConsoleReport } from './consoles.js';
import type { RequestShape } from './fixture.js';
import type { Goal } from './goals.js';
import type { BenchOptions } from './options.js';
import { consoleToken } from './servers/dashboard.js';
import { ratio, summarise, type Summary } from './statistics.js';
import { Subject, type Load, type Measurement } from './subject-process.js';
import { verifySubject } from './verify.js';

const shape: RequestShape = { calls: 1, paymasters: 10 };
const consoles = 10;
/** Every open page asks everything but the list of problems once in this time. */
const leastSeconds = 5;

export type ConsolesResult = {
  readonly summaries: Readonly<Record<string, Summary>>;
  readonly goals: readonly Goal[];
};

/**
 * What ten open consoles cost the sponsor path, window by window on the same processes: beside `make run`, where one process does all; and
 * on PostgreSQL, where the dashboard is a process of its own, and shares database and machine.
 */
export async function measureConsoles(options: BenchOptions, load: Load): Promise<ConsolesResult> {
  const postgres = await startPostgres({ folder: tmpdir() });
  const common = ['--ledger', '--madeAt', String(Date.now())];
  const shared = [...common, '--postgres', await postgres.createDatabase()];
  const within = new Subject('one process', 'servers/ours.js', [...common, '--dashboard', 'within']);
  const rpc = new Subject('PostgreSQL', 'servers/ours.js', [...shared, '--dashboard', 'elsewhere']);
  const beside = new Subject('dashboard', 'servers/ours.js', [...shared, '--dashboard', 'alone']);
  const summaries: Record<string, Summary> = {};
  const goals: Goal[] = [];
  try {
    for (const { server, dashboard } of [
      { server: within, dashboard: within },
      { server: rpc, dashboard: beside },
    ]) {
      const measured = await measureBoth(server, dashboard, { options, load });
      const { none, open } = measured;
      summaries[`${server.name}, no console`] = summarise(none);
      summaries[`${server.name}, ${consoles} consoles`] = summarise(open);
      const ofNone = (what: string, figure: (window: Measurement) => number): Goal => ({
        name: `${what}, ${server.name}, ${consoles} consoles open ÷ none, c=32`,
        value: ratio(open, none, figure),
        unit: 'ratio',
      });
      goals.push(
        { ...ofNone('requests/s', (window) => window.requestsPerSecond), required: { atLeast: 0.98 } },
        ofNone('p99', (window) => window.p99Ms),
        {
          name: `answers to consoles, ${server.name}`,
          value: measured.answers,
          unit: 'count',
          required: { atLeast: 1 },
        },
        {
          name: `errors of consoles, ${server.name}`,
          value: measured.errors,
          unit: 'count',
          required: { atMost: 0 },
        },
      );
    }
  } finally {
    await Promise.all([within.stop(), rpc.stop(), beside.stop()]);
    await postgres.stop();
  }
  const errors = Object.values(summaries).reduce((sum, one) => sum + one.errors, 0);
  goals.push({ name: 'errors beside consoles', value: errors, unit: 'count', required: { atMost: 0 } });
  return { summaries, goals };
}

async function measureBoth(
  server: Subject,
  dashboard: Subject,
  { options, load }: { readonly options: BenchOptions; readonly load: Load },
) {
  for (const subject of new Set([server, dashboard])) await subject.start();
  await verifySubject(server.name, server.port, shape, 1);
  const origin = `http://127.0.0.1:${dashboard.port}`;
  const clients = new BenchProcess('consoles', 'consoles.js');
  const opened = async (open: number): Promise<ConsoleReport> =>
    (await clients.ask({ origin, token: consoleToken, open } satisfies ConsoleOrder)) as ConsoleReport;
  const seconds = options.isShort ? options.seconds : Math.max(leastSeconds, options.seconds);
  const none: Measurement[] = [];
  const open: Measurement[] = [];
  let [answers, errors] = [0, 0];
  try {
    await load.measure(server, { shape, concurrency: 32, seconds });
    for (let round = 0; round < options.repeats; round += 1) {
      await opened(0);
      none.push(await load.measure(server, { shape, concurrency: 32, seconds }));
      await opened(consoles);
      open.push(await load.measure(server, { shape, concurrency: 32, seconds }));
      const report = await opened(0);
      answers += report.answers;
      errors += report.errors;
      if (report.firstError !== undefined) console.error(`consoles: ${report.firstError}`);
    }
  } finally {
    await clients.stop();
  }
  return { none, open, answers, errors };
}
