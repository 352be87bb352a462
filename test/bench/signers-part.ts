import { remoteSigner, type RequestShape } from './fixture.js';
import { renderTable, type Goal } from './goals.js';
import type { BenchOptions } from './options.js';
import { median, ratio, summarise } from './statistics.js';
import { Load, Subject, type Measurement } from './subject-process.js';

export type SignersResult = {
  readonly windows: Readonly<Record<string, readonly Measurement[]>>;
  readonly goals: readonly Goal[];
};

type Windows = Readonly<Record<'alone' | 'beside' | 'remote' | 'local', Measurement[]>>;

const inProcess: RequestShape = { calls: 1, paymasters: 5 };
const remote: RequestShape = { calls: 1, paymasters: 5, first: 5 };
/** Of the paymasters whose key is in the process: far from what the server can do, so that their p99 shows who disturbs them. */
const perSecond = 300;

/**
 * One server with five paymasters whose key is in the process, and five whose key is at a remote signer that takes 30 ms and makes 200
 * signatures a second. The former are measured alone, and beside the latter, which are pushed as hard as they can. `local` is the
 * control: the same server signs as many operations more as the remote signer makes, with keys of the process. What it lacks of `alone` is
 * the price of more operations in one process; what `beside` lacks of `local` is the price of a remote signer. Interleaved.
 */
export async function measureSigners(options: BenchOptions, load: Load): Promise<SignersResult> {
  const { repeats } = options;
  // The signer's own figures show only in windows that are longer than what it makes at once.
  const seconds = options.isShort ? options.seconds : Math.max(4, options.seconds);
  const signer = new Subject('remote signer', 'servers/remote-signer.js');
  await signer.start();
  const subject = new Subject('ours', 'servers/ours.js', ['--remote', String(signer.port)]);
  const other = new Load();
  const windows: Windows = { alone: [], beside: [], remote: [], local: [] };
  const signerCounts: number[] = [];
  try {
    await subject.start();
    const steady = { shape: inProcess, concurrency: 16, seconds, perSecond };
    const pushed = { shape: remote, concurrency: 32, seconds, perSecond: 2 * remoteSigner.perSecond };
    const asMany = { shape: inProcess, concurrency: 32, seconds, perSecond: remoteSigner.perSecond };
    // The others push before, during and after the window that is measured: nobody warms up in it.
    const besides = async (order: typeof pushed) => {
      await other.warmUp(subject, order.shape, perSecond, order.concurrency);
      const pushing = other.measure(subject, { ...order, seconds: seconds + 1, isWarm: true });
      return Promise.all([load.measure(subject, steady), pushing]);
    };
    for (let round = 0; round < repeats; round += 1) {
      windows.alone.push(await load.measure(subject, steady));
      const before = (await signer.report()).counts;
      const [own, pushedTo] = await besides(pushed);
      const after = (await signer.report()).counts;
      windows.beside.push(own);
      windows.remote.push(pushedTo);
      signerCounts.push(refusedShare(before, after));
      windows.local.push((await besides(asMany))[0]);
    }
    return judge(windows, median(signerCounts));
  } finally {
    await Promise.all([subject, signer, other].map((each) => each.stop()));
  }
}

type Counts = Readonly<Record<string, number>>;

/** Calls that the signer refused because they were too many, of all calls. */
function refusedShare(before: Counts, after: Counts): number {
  const since = (name: string) => (after[name] ?? 0) - (before[name] ?? 0);
  const refused = since('throttled');
  return refused / Math.max(1, refused + since('signatures'));
}

function judge(windows: Windows, refused: number): SignersResult {
  console.log(
    `\n${renderTable(
      ['signers', 'answers/s', 'p50 ms', 'p99 ms', 'CPU µs', 'errors'],
      Object.entries(windows).map(([name, each]) => {
        const { requestsPerSecond, p50Ms, p99Ms, cpuMicros, errors } = summarise(each);
        const figures = [
          requestsPerSecond.toFixed(0),
          p50Ms.toFixed(2),
          p99Ms.toFixed(2),
          cpuMicros.toFixed(0),
        ];
        return [name, ...figures, String(errors)];
      }),
    )}`,
  );
  const signed = windows.remote.map(({ requests, errors, seconds }) => (requests - errors) / seconds);
  const p99 = (one: readonly Measurement[], by: readonly Measurement[]) =>
    ratio(one, by, ({ p99Ms }) => p99Ms);
  const goal = (
    name: string,
    value: number,
    required?: Goal['required'],
    unit: Goal['unit'] = 'ratio',
  ): Goal => ({
    name: `signers: ${name}`,
    value,
    unit,
    ...(required === undefined ? {} : { required }),
  });
  return {
    windows,
    goals: [
      goal('signed a second by a remote one ÷ what it allows', median(signed) / remoteSigner.perSecond, {
        atLeast: 0.9,
      }),
      goal('calls that it refused, of all', refused, { atMost: 0.1 }),
      goal('p99 of keys in the process beside it ÷ alone', p99(windows.beside, windows.alone)),
      goal(
        'p99 of keys in the process beside it ÷ beside as many more of their own',
        p99(windows.beside, windows.local),
        {
          atMost: 1.25,
        },
      ),
      goal('errors of keys in the process', summarise(windows.beside).errors, { atMost: 0 }, 'count'),
    ],
  };
}
