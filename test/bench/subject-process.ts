import { BenchProcess } from './child-process.js';
import type { RequestShape } from './fixture.js';
import type { LoadOrder, LoadResult } from './load.js';
import type { SubjectReport } from './servers/subject.js';

/** The options with which our servers are started, see Makefile and chart. */
export const serverFlags = [
  '--max-semi-space-size=16',
  '--heap-growing-percent=50',
  '--use-largepages=silent',
];

/** One window of load on one server. */
export type Measurement = LoadResult & {
  readonly requestsPerSecond: number;
  /** User and system time of the server process per request. */
  readonly cpuMicros: number;
  /** What the server counted during the window, per request. */
  readonly countsPerRequest: Readonly<Record<string, number>>;
};

/** The target of the load: one server, or the replicas of one service. */
export type Target = {
  readonly name: string;
  readonly ports: readonly number[];
  report(): Promise<Omit<SubjectReport, 'heapBytes' | 'residentBytes' | 'ledgerBytes'>>;
};

/** A measured server in its own process. */
export class Subject implements Target {
  readonly name: string;
  readonly #process: BenchProcess;
  #port = 0;

  constructor(name: string, entry: string, args: readonly string[] = []) {
    this.name = name;
    this.#process = new BenchProcess(name, entry, args, ['--expose-gc', ...serverFlags]);
  }

  async start(): Promise<void> {
    this.#port = ((await this.#process.receive()) as { port: number }).port;
  }

  get port(): number {
    return this.#port;
  }

  get ports(): readonly number[] {
    return [this.#port];
  }

  /** `collect` runs the garbage collector first. */
  async report(collect = false): Promise<SubjectReport> {
    return (await this.#process.ask({ collect })) as SubjectReport;
  }

  stop(): Promise<void> {
    return this.#process.stop();
  }
}

export type WindowOptions = {
  readonly shape: RequestShape;
  readonly concurrency: number;
  readonly seconds: number;
  /** See LoadOrder. */
  readonly perSecond?: number;
  /** The caller has warmed it up. */
  readonly isWarm?: boolean;
};

/** The load process, shared by all windows; gives every request of the whole run a unique id. */
export class Load {
  readonly #process = new BenchProcess('load', 'load.js');
  readonly #rates = new Map<string, number>();
  #nextId = 1000;

  async measure(subject: Target, { isWarm = false, ...options }: WindowOptions): Promise<Measurement> {
    const { calls, ask } = options.shape;
    const rateKey = `${subject.name} ${options.concurrency} ${calls} ${ask}`;
    // Enough for a window half as fast again as the last one; unknown servers get enough for a fast one.
    const guess = options.concurrency === 1 ? 1000 : 8000;
    const rate = options.perSecond ?? (this.#rates.get(rateKey) ?? guess) * 1.5;
    const count = Math.max(200, Math.ceil(rate * options.seconds));
    const order: LoadOrder = { ...options, ports: subject.ports, firstId: this.#nextId, count };
    this.#nextId += count;
    // While others were measured this server was idle: its caches are cold, and V8 has used the time to collect garbage
    // and to drop code. Its first moments do not represent a server in use.
    if (!isWarm) await this.warmUp(subject, options.shape, Math.ceil(count / 3), options.concurrency);

    const before = await subject.report();
    const result = (await this.#process.ask(order)) as LoadResult;
    const after = await subject.report();
    if (result.errors > 0)
      console.error(
        `${subject.name}: ${result.errors} of ${result.requests} answers are errors, the first: ${result.firstError}`,
      );
    const requests = Math.max(1, result.requests);
    const requestsPerSecond = result.requests / result.seconds;
    this.#rates.set(rateKey, requestsPerSecond);
    return {
      ...result,
      requestsPerSecond,
      cpuMicros: (after.cpuMicros - before.cpuMicros) / requests,
      countsPerRequest: differences(before.counts, after.counts, requests),
    };
  }

  /** Sends that many requests, untimed, in portions that fit into memory. */
  async warmUp(subject: Target, shape: RequestShape, requests: number, concurrency = 32): Promise<void> {
    for (let sent = 0; sent < requests; sent += warmUpPortion) {
      const count = Math.min(warmUpPortion, requests - sent);
      await this.#process.ask({
        shape,
        concurrency,
        seconds: 120,
        ports: subject.ports,
        firstId: this.#nextId,
        count,
      } satisfies LoadOrder);
      this.#nextId += count;
    }
  }

  stop(): Promise<void> {
    return this.#process.stop();
  }
}

const warmUpPortion = 20_000;

function differences(
  before: SubjectReport['counts'],
  after: SubjectReport['counts'],
  requests: number,
): Record<string, number> {
  return Object.fromEntries(
    Object.entries(after).map(([name, value]) => [name, (value - (before[name] ?? 0)) / requests]),
  );
}
