import { remoteSigner, type RequestShape } from './fixture.js';
import { renderTable, type Goal } from './goals.js';
import type { BenchOptions } from './options.js';
import { median, ratio, summarise } from './statistics.js';
import { Load, Subject, type Measurement } from './subject-process.js';

export type SignersResult = {
  readonly windows: Readonly<Record<string, readonly Measurement[]>>;
  readonly goals: readonly Goal[];
};

const inProcess: RequestShape = { calls: 1, paymasters: 5 };
const remote: RequestShape = { calls: 1, paymasters: 5, first: 5 };
/** Of the paymasters whose key is in the process: far from what the server can do, so that their p99 shows who disturbs them. */
const perSecond = 300;

/**
 * One server with five paymasters whose key is in the process, and five whose key is at a remote signer that takes 30 ms and makes 200
 * signatures a second. The former alone, the latter alone and pushed as hard as they can, then both. Interleaved.
 */
export async function measureSigners(options: BenchOptions, load: Load): Promise<SignersResult> {
  const { repeats } = options;
  // The signer's own figures show only in windows that are longer than what it makes at once.
  const seconds = Math.max(4, options.seconds);
  const signer = new Subject('remote signer', 'servers/remote-signer.js');
  await signer.start();
  const subject = new Subject('ours', 'servers/ours.js', ['--remote', String(signer.port)]);
  const other = new Load();
  const windows = { alone: [], remote: [], beside: [] } as Record<
    'alone' | 'remote' | 'beside',
    Measurement[]
  >;
  try {
    await subject.start();
    const steady = { shape: inProcess, concurrency: 16, seconds, perSecond };
    const pushed = { shape: remote, concurrency: 32, seconds, perSecond: 2 * remoteSigner.perSecond };
    for (let round = 0; round < repeats; round += 1) {
      windows.alone.push(await load.measure(subject, steady));
      const [beside, alike] = await Promise.all([
        load.measure(subject, steady),
        other.measure(subject, pushed),
      ]);
      windows.beside.push(beside);
      windows.remote.push(alike);
    }
    return judge(windows);
  } finally {
    await Promise.all([subject.stop(), signer.stop(), other.stop()]);
  }
}

function judge(
  windows: Readonly<Record<'alone' | 'remote' | 'beside', readonly Measurement[]>>,
): SignersResult {
  console.log(
    `\n${renderTable(
      ['signers', 'answers/s', 'p50 ms', 'p99 ms', 'errors'],
      Object.entries(windows).map(([name, each]) => {
        const { requestsPerSecond, p50Ms, p99Ms, errors } = summarise(each);
        return [name, requestsPerSecond.toFixed(0), p50Ms.toFixed(2), p99Ms.toFixed(2), String(errors)];
      }),
    )}`,
  );
  const signed = windows.remote.map(({ requests, errors, seconds }) => (requests - errors) / seconds);
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
      goal(
        'p99 of keys in the process beside it ÷ alone',
        ratio(windows.beside, windows.alone, ({ p99Ms }) => p99Ms),
        { atMost: 1.5 },
      ),
      goal('errors of keys in the process', summarise(windows.beside).errors, { atMost: 0 }, 'count'),
    ],
  };
}
