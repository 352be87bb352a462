import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { until } from '../../support/until.js';
import { readCost, readMetric } from './component-metrics.js';
import { inspectable, usedHeap } from './inspector.js';
import type { BenchInstallation } from './installation.js';
import { isSponsored } from './replica-client.js';

export type ColdStart = {
  /** From the start of the process until `/readyz` answers 200, with nothing but the API server to read from. */
  readonly readyMs: number;
  /** User and system time of that process until then. */
  readonly cpuMs: number;
  /** The same with its snapshot on disk while the API server is down. */
  readonly snapshotReadyMs: number;
  readonly snapshotCpuMs: number;
  /** Heap in use, collected, of the replica that has become ready and has written its first snapshot. */
  readonly usedHeap: number;
};

/** Starts a fourth replica, which has never run before; then again without an API server, which is not started again. */
export async function measureColdStart(
  { cluster, fleet }: BenchInstallation,
  size: number,
): Promise<ColdStart> {
  const startedAt = performance.now();
  const replica = await cluster.start('rpc', { index: 3, environment: inspectable });
  const readyMs = performance.now() - startedAt;
  const { cpuSeconds } = await readCost(replica);
  const served = await readMetric(replica, 'paymaster_configs{kind="paymaster"}');
  if (served < size) throw new Error(`a replica is ready with ${served} of ${size} paymasters`);
  // It holds the listed objects in memory until they are on disk.
  const snapshot = join(dirname(replica.logFile), 'var/lib/paymaster/configs.snapshot');
  await until('the snapshot is written', () => existsSync(snapshot));
  const heap = await usedHeap(replica);
  await replica.stop();
  const { apiServer } = cluster.plane;
  apiServer.signal('SIGKILL');
  await apiServer.ended();
  const restartedAt = performance.now();
  await replica.restart();
  const snapshotReadyMs = performance.now() - restartedAt;
  const again = await readCost(replica);
  if (!(await isSponsored(replica, fleet, size - 1)))
    throw new Error('a replica does not serve its snapshot');
  return {
    readyMs,
    cpuMs: 1000 * cpuSeconds,
    snapshotReadyMs,
    snapshotCpuMs: 1000 * again.cpuSeconds,
    usedHeap: heap,
  };
}
