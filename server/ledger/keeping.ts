import type { Ambient } from '../../core/ambient.js';
import type { LedgerUpkeep } from '../../core/ledger/ledger.js';

const rollUpEveryMs = 1_000;
const pruneEveryMs = 3_600_000;
const firstPruneMs = 60_000;
const sizeEveryMs = 60_000;

/** Keeps a ledger: adds new records to the sums of usage, and removes those whose time is over. */
export function createLedgerKeeping(deps: Ambient & { readonly ledger: LedgerUpkeep }) {
  const { ledger, clock, log, metrics } = deps;
  const gauge = (name: string, help: string) => metrics.gauge({ name, help }).with({});
  const used = gauge('paymaster_ledger_used_bytes', 'Bytes that the records of the ledger take.');
  const capacity = gauge(
    'paymaster_ledger_capacity_bytes',
    'Bytes that the ledger may take. Beyond, the oldest inputs of decisions are removed first.',
  );
  const failures = metrics.counter<'work'>({
    name: 'paymaster_ledger_failures_total',
    help: 'Times that records could not be summed (rollUp), removed (prune) or measured (size); it is tried again.',
    labels: ['work'],
  });
  let isStopped = false;

  /** One run at a time. A failure is said once, until a run succeeds. */
  function job(name: keyof LedgerUpkeep, problem: string, work: () => Promise<void>) {
    const failed = failures.with({ work: name });
    let running: Promise<void> | undefined;
    let hasFailed = false;
    async function once(): Promise<void> {
      try {
        await work();
        hasFailed = false;
      } catch (error) {
        failed.inc();
        if (!hasFailed) log.warn(problem, { error });
        hasFailed = true;
      }
    }
    return {
      run(): void {
        if (!isStopped) running ??= once().finally(() => (running = undefined));
      },
      ended: (): Promise<void> | undefined => running,
    };
  }

  const rollUp = job('rollUp', 'sums of usage are late: readings add what is missing', async () => {
    while (!isStopped && (await ledger.rollUp()));
  });
  const prune = job('prune', 'old records were not removed from the ledger', async () => {
    while (!isStopped && (await ledger.prune(clock.now())));
  });
  const measure = job('size', 'the size of the ledger was not read', async () => {
    const size = await ledger.size();
    used.set(size.used);
    capacity.set(size.capacity);
  });
  const timers: NodeJS.Timeout[] = [];

  return {
    start(): void {
      measure.run();
      timers.push(
        setInterval(() => rollUp.run(), rollUpEveryMs).unref(),
        setInterval(() => measure.run(), sizeEveryMs).unref(),
        setTimeout(() => prune.run(), firstPruneMs).unref(),
        setInterval(() => prune.run(), pruneEveryMs).unref(),
      );
    },
    /** The ledger belongs to the caller. May be called twice. */
    async stop(): Promise<void> {
      isStopped = true;
      for (const timer of timers.splice(0)) clearTimeout(timer);
      for (const one of [rollUp, prune, measure]) await one.ended();
    },
  };
}
