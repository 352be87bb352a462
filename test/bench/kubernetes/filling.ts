import { setTimeout as pause } from 'node:timers/promises';
import { isConditionTrue } from '../../../core/meta/conditions.js';
import type { Paymaster } from '../../../core/resources/paymaster.js';
import type { Cluster } from '../../support/cluster/cluster.js';
import { until } from '../../support/until.js';
import type { CompiledWatch } from './compiled.js';
import { readCost, untilIdle, type Cost } from './component-metrics.js';
import { objectsPerPaymaster } from './fleet.js';
import type { BenchInstallation } from './installation.js';
import { servedAt } from './replica-client.js';

/** Seconds since the first object was sent. */
export type Filling = {
  readonly paymasters: number;
  /** The API server has answered for every object. */
  readonly appliedSeconds: number;
  /** Every replica serves every paymaster with its contract and limits. */
  readonly servedSeconds: number;
  /** Every status is written. */
  readonly settledSeconds: number;
  /** What the operator took for each paymaster. */
  readonly cost: Cost;
};

/** Adds paymasters up to `size`, and waits until all are served by all replicas and ready. */
export async function fill(bench: BenchInstallation, from: number, size: number): Promise<Filling> {
  const { fleet, replicas, compiled, operator, cluster } = bench;
  const before = await readCost(operator);
  const started = performance.now();
  const seconds = () => (performance.now() - started) / 1000;
  const reports = setInterval(
    () => console.log(`    ${compiled.count()} of ${size} compiled after ${seconds().toFixed(0)} s`),
    15_000,
  );
  try {
    await fleet.create(from, size);
    const appliedSeconds = seconds();
    await untilCompiled(compiled, size);
    // A watch delivers in order: a replica that serves the config compiled last serves all earlier ones.
    for (const name of compiled.newest(10))
      await Promise.all(
        replicas.map((replica) => servedAt(replica, fleet, { index: fleet.indexOf(name), isOpen: true })),
      );
    const servedSeconds = seconds();
    await untilReady(cluster);
    await untilIdle(operator);
    const settledSeconds = seconds();
    const cost = perPaymaster(before, await readCost(operator), size - from);
    const rate = ((size - from) * objectsPerPaymaster) / appliedSeconds;
    console.log(
      `    ${size} paymasters: applied in ${appliedSeconds.toFixed(1)} s (${rate.toFixed(0)} objects/s), ` +
        `served after ${servedSeconds.toFixed(1)} s, statuses settled after ${settledSeconds.toFixed(1)} s`,
    );
    return { paymasters: size - from, appliedSeconds, servedSeconds, settledSeconds, cost };
  } finally {
    clearInterval(reports);
  }
}

function perPaymaster(before: Cost, after: Cost, paymasters: number): Cost {
  const each = (figure: keyof Cost) => (after[figure] - before[figure]) / paymasters;
  return { cpuSeconds: each('cpuSeconds'), reads: each('reads'), writes: each('writes') };
}

/** A replica says only once in a while which configs it serves, and the operator writes it down after that. */
async function untilReady(cluster: Cluster): Promise<void> {
  let waiting: readonly Paymaster[] = [];
  const isOver = async () => {
    const paymasters = await cluster.resources.list('Paymaster');
    waiting = paymasters.filter((paymaster) => !isConditionTrue(paymaster, 'Ready'));
    return waiting.length === 0;
  };
  await until(
    () => `${waiting.length} paymasters are ready, e.g. ${JSON.stringify(waiting[0])}`,
    isOver,
    20 * 60_000,
  );
}

/** Waits however long it takes on this machine, as long as there is progress. */
async function untilCompiled(compiled: CompiledWatch, size: number): Promise<void> {
  let seen = { count: compiled.count(), at: performance.now() };
  while (seen.count < size) {
    await pause(5);
    const count = compiled.count();
    if (count > seen.count) seen = { count, at: performance.now() };
    else if (performance.now() - seen.at > 120_000)
      throw new Error(`the operator stopped compiling: ${count} of ${size} paymasters are served`);
  }
}
