import type { Goal } from './goals.js';
import { measureChanges, type Propagation } from './kubernetes/changes.js';
import { measureColdStart, type ColdStart } from './kubernetes/cold-start.js';
import { readMetric } from './kubernetes/component-metrics.js';
import { fill, type Filling } from './kubernetes/filling.js';
import { measureIdle, type Idle } from './kubernetes/idle.js';
import { usedHeap } from './kubernetes/inspector.js';
import { startBenchInstallation, type BenchInstallation } from './kubernetes/installation.js';
import type { BenchOptions } from './options.js';
import { percentile } from './statistics.js';

/** The measurements with one number of paymasters. */
type Stage = Propagation & {
  readonly size: number;
  readonly filling: Filling;
  readonly operator: Memory;
  readonly replica: Memory;
};

/** Bytes: heap in use after a collection, and resident memory of the process. */
type Memory = { readonly usedHeap: number; readonly resident: number };

export type KubernetesResult = {
  readonly stages: readonly Stage[];
  readonly cold: ColdStart;
  readonly goals: readonly Goal[];
};

/**
 * A whole installation on a real API server, filled with more and more paymasters: how long a change takes until all
 * three RPC replicas answer according to it, how fast a new replica is ready, and the memory that a paymaster costs.
 */
export async function measureKubernetes({ sizes, count }: BenchOptions): Promise<KubernetesResult> {
  const bench = await startBenchInstallation(Math.max(...sizes));
  try {
    const empty = await measureMemory(bench);
    const idle = await measureIdle(bench, count(60));
    const stages: Stage[] = [];
    let present = 0;
    for (const size of sizes) {
      const filling = await fill(bench, present, size);
      present = size;
      const propagation = await measureChanges(bench, size, 2 * count(100));
      stages.push({ size, filling, ...propagation, ...(await measureMemory(bench)) });
    }
    const cold = await measureColdStart(bench, present);
    return { stages, cold, goals: [...idleGoals(idle), ...goalsOf(stages, cold, empty)] };
  } finally {
    await bench.stop();
  }
}

type Memories = { readonly operator: Memory; readonly replica: Memory };

async function measureMemory({ operator, replicas: [replica] }: BenchInstallation): Promise<Memories> {
  if (replica === undefined) throw new Error('no replica runs');
  const [own, served] = await Promise.all(
    [operator, replica].map(async (component) => {
      const resident = await readMetric(component, 'process_resident_memory_bytes');
      return { resident, usedHeap: await usedHeap(component) };
    }),
  );
  if (own === undefined || served === undefined) throw new Error('a component has no memory');
  return { operator: own, replica: served };
}

/** Of an operator and three replicas that nobody asks for anything. */
function idleGoals({ apiCalls, commits }: Idle): readonly Goal[] {
  return [
    {
      name: 'calls to the API server a minute, idle',
      value: apiCalls,
      unit: 'count',
      required: { atMost: 600 },
    },
    {
      name: 'transactions of PostgreSQL a minute, idle',
      value: commits,
      unit: 'count',
      required: { atMost: 600 },
    },
  ];
}

/** Below this many paymasters, what any process gains by running is more than what they take. */
const enoughToJudge = 5_000;

function goalsOf(stages: readonly Stage[], cold: ColdStart, empty: Memories): readonly Goal[] {
  const [smallest, largest] = [stages[0], stages.at(-1)];
  if (smallest === undefined || largest === undefined) return [];
  // Memory that a process uses for serving requests would be counted as that of paymasters: so both sides have served,
  // unless there is one stage alone.
  const [before, more] =
    smallest === largest ? [empty, largest.size] : [smallest, largest.size - smallest.size];
  const at = `${largest.size.toLocaleString('en')} paymasters`;
  const atMost = (bound: number) => (more < enoughToJudge ? {} : { required: { atMost: bound } });
  return [
    ...stages.flatMap(goalsOfStage),
    {
      name: `cold replica ready, ${at}`,
      value: cold.readyMs,
      unit: 'ms',
      required: { atMost: 3500 },
    },
    { name: `CPU until a cold replica is ready, ${at}`, value: cold.cpuMs, unit: 'ms' },
    {
      name: `cold replica ready from its snapshot, API server down, ${at}`,
      value: cold.snapshotReadyMs,
      unit: 'ms',
      required: { atMost: 2500 },
    },
    { name: `CPU until it is ready from its snapshot, ${at}`, value: cold.snapshotCpuMs, unit: 'ms' },
    {
      name: `heap of a new replica per paymaster, ${at}`,
      value: (cold.usedHeap - empty.replica.usedHeap) / largest.size,
      unit: 'bytes',
      ...atMost(2_048),
    },
    {
      name: `heap of a used replica per paymaster, ${at}`,
      value: (largest.replica.usedHeap - before.replica.usedHeap) / more,
      unit: 'bytes',
      ...atMost(4_096),
    },
    { name: `resident memory of a replica, ${at}`, value: largest.replica.resident, unit: 'MiB' },
    {
      name: `heap of the operator per paymaster, ${at}`,
      value: (largest.operator.usedHeap - before.operator.usedHeap) / more,
      unit: 'bytes',
      ...atMost(16_384),
    },
    { name: `heap of the operator, ${at}`, value: largest.operator.usedHeap, unit: 'MiB' },
    {
      name: `resident memory of the operator, ${at}`,
      value: largest.operator.resident,
      unit: 'MiB',
      ...atMost(450 * 2 ** 20),
    },
  ];
}

function goalsOfStage({ size, filling, sinceAnswer, sinceSending, untilCompiled }: Stage): readonly Goal[] {
  const at = `${size.toLocaleString('en')} paymasters`;
  return [
    {
      name: `${filling.paymasters} more applied → all served, ${at}`,
      value: filling.servedSeconds,
      unit: 's',
    },
    {
      name: `${filling.paymasters} more applied → all statuses written, ${at}`,
      value: filling.settledSeconds,
      unit: 's',
    },
    {
      name: `paymasters compiled per second, ${at}`,
      value: filling.paymasters / filling.servedSeconds,
      unit: 'count',
      ...(filling.paymasters < enoughToJudge ? {} : { required: { atLeast: 35 } }),
    },
    {
      name: `CPU of the operator per paymaster, ${at}`,
      value: 1000 * filling.cost.cpuSeconds,
      unit: 'ms',
    },
    { name: `writes of the operator per paymaster, ${at}`, value: filling.cost.writes, unit: 'count' },
    { name: `reads of the operator per paymaster, ${at}`, value: filling.cost.reads, unit: 'count' },
    { name: `applied → served by 3 replicas, p50, ${at}`, value: percentile(sinceAnswer, 0.5), unit: 'ms' },
    {
      name: `applied → served by 3 replicas, p99, ${at}`,
      value: percentile(sinceAnswer, 0.99),
      unit: 'ms',
      required: { atMost: 1000 },
    },
    {
      name: `sent → served by 3 replicas, p99, ${at}`,
      value: percentile(sinceSending, 0.99),
      unit: 'ms',
    },
    {
      name: `sent → compiled and watched, p99, ${at}`,
      value: percentile(untilCompiled, 0.99),
      unit: 'ms',
    },
  ];
}
