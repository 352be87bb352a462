import type { Ambient } from '../../core/ambient.js';
import { prunedShare, type LedgerMaintenance } from '../../core/ledger/ledger.js';
import { createLedgerRoom, type LedgerRoom } from './room.js';

/** Of each process: several take turns, and readings add what is missing. */
const rollUpEveryMs = 3_000;
const pruneEveryMs = 3_600_000;
const firstPruneMs = 60_000;
const sizeEveryMs = 15_000;

/** Keeps a ledger: adds new records to the sums of usage, removes those whose time is over, and knows what room it has. */
export function createLedgerKeeping(
  deps: Ambient & {
    readonly ledger: LedgerMaintenance;
    /** That write to it and keep it, about. */
    readonly processes: number;
  },
) {
  const { ledger, processes, clock, log, metrics } = deps;
  const room = createLedgerRoom({ clock, processes });
  const gauge = (name: string, help: string) => metrics.gauge({ name, help }).with({});
  const used = gauge('paymaster_ledger_used_bytes', 'Bytes that the records of the ledger take.');
  const capacity = gauge(
    'paymaster_ledger_capacity_bytes',
    'Bytes that the ledger may take. Beyond nine tenths the oldest records are removed. Beyond all of them refusals are only counted.',
  );
  const failures = metrics.counter<'work'>({
    name: 'paymaster_ledger_failures_total',
    help: 'Times that records could not be summed (rollUp), removed (prune) or measured (size); it is tried again.',
    labels: ['work'],
  });
  let isStopped = false;

  /** One run at a time. A failure is said once, until a run succeeds. */
  function job(name: keyof LedgerMaintenance, problem: string, work: () => Promise<void>) {
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
    const size = await room.measured(ledger.size());
    used.set(size.used);
    capacity.set(size.capacity);
    if (size.used > size.capacity * prunedShare) prune.run();
  });
  const timers: NodeJS.Timeout[] = [];

  return {
    room: room as LedgerRoom,
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
