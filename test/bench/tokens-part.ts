import { renderTable, type Goal } from './goals.js';
import type { BenchOptions } from './options.js';
import type { Ask } from './fixture.js';
import { ratio, summarise, type Summary } from './statistics.js';
import { Subject, type Load, type Measurement } from './subject-process.js';

export type TokensResult = {
  readonly summaries: Readonly<Record<string, Summary>>;
  readonly goals: readonly Goal[];
};

const asked = ['quote of 1 token', 'quote of 20 tokens', 'token payment'] as const satisfies readonly Ask[];

/**
 * Mode ERC20 against the limit of a sponsorship, window by window: the cost of one hash and one signature. Gas limits are given
 * and prices warm. A token payment signs twice, its trial and its data; the node's simulation is left out.
 */
export async function measureTokens(options: BenchOptions, load: Load): Promise<TokensResult> {
  const limit = new Subject('limit', 'servers/limit.js');
  const ours = new Subject('ours', 'servers/ours.js', [
    '--paymasters',
    '10',
    '--limits',
    '2',
    '--tokens',
    '20',
  ]);
  const windows = new Map<Ask, { readonly ours: Measurement[]; readonly limit: Measurement[] }>();
  try {
    await Promise.all([limit.start(), ours.start()]);
    const measure = (subject: Subject, ask: Ask): Promise<Measurement> =>
      load.measure(subject, {
        shape: { calls: 1, paymasters: 10, ask },
        concurrency: 32,
        seconds: options.seconds,
      });
    for (const ask of asked) {
      const rows = { ours: [], limit: [] } as { ours: Measurement[]; limit: Measurement[] };
      windows.set(ask, rows);
      for (let round = 0; round < options.repeats; round += 1) {
        rows.limit.push(await measure(limit, 'sponsorship'));
        rows.ours.push(await measure(ours, ask));
      }
    }
  } finally {
    await Promise.all([limit.stop(), ours.stop()]);
  }

  const summaries = Object.fromEntries([...windows].map(([ask, rows]) => [ask, summarise(rows.ours)]));
  console.log(`\n${render(summaries)}`);
  return { summaries, goals: [...windows].flatMap(([ask, rows]) => goalsOf(ask, rows)) };
}

function goalsOf(
  ask: Ask,
  { ours, limit }: { readonly ours: readonly Measurement[]; readonly limit: readonly Measurement[] },
): readonly Goal[] {
  const { errors, countsPerRequest } = summarise(ours);
  return [
    {
      name: `${ask}: requests/s ÷ limit, c=32`,
      value: ratio(ours, limit, (window) => window.requestsPerSecond),
      unit: 'ratio',
    },
    {
      name: `${ask}: CPU per request ÷ limit, c=32`,
      value: ratio(ours, limit, (window) => window.cpuMicros),
      unit: 'ratio',
    },
    { name: `${ask}: errors`, value: errors, unit: 'count', required: { atMost: 0 } },
    {
      name: `${ask}: calls to the chain per request`,
      value: countsPerRequest['chainCalls'] ?? Number.NaN,
      unit: 'count',
      required: { atMost: 0 },
    },
  ];
}

function render(summaries: TokensResult['summaries']): string {
  const rows = Object.entries(summaries).map(([name, summary]) => [
    name,
    summary.requestsPerSecond.toFixed(0),
    summary.cpuMicros.toFixed(1),
    summary.p50Ms.toFixed(2),
    summary.p99Ms.toFixed(2),
    String(summary.errors),
    String(summary.answerBytes),
    summary.firstError ?? '',
  ]);
  const head = ['mode ERC20, c=32', 'req/s', 'CPU µs/req', 'p50 ms', 'p99 ms', 'errors', 'answer B', ''];
  return renderTable(head, rows);
}
