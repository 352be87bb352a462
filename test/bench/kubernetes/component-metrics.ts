import { readFileSync } from 'node:fs';
import { until } from '../../support/until.js';
import type { Component } from '../../support/cluster/component.js';

/** The sample of a component's `/metrics` with this name and label set, e.g. `workqueue_depth{name="paymaster"}`. */
export async function readMetric(component: Component, sample: string): Promise<number> {
  const line = (await readLines(component)).find((each) => each.startsWith(`${sample} `));
  if (line === undefined) throw new Error(`${component.name} has no metric ${sample}`);
  return Number(line.slice(sample.length));
}

/** What a component has cost since it was started. */
export type Cost = { readonly cpuSeconds: number; readonly reads: number; readonly writes: number };

/**
 * User and system time of a component, as Linux counts it, and its answered calls to the API server; watches count as one read each.
 * Its own metric of CPU begins when its modules are loaded, which is most of a start.
 */
export async function readCost(component: Component): Promise<Cost> {
  const cost = { cpuSeconds: cpuSeconds(component.pid), reads: 0, writes: 0 };
  for (const line of await readLines(component)) {
    const value = Number(line.slice(line.lastIndexOf(' ')));
    if (line.startsWith('rest_client_requests_total{method="GET"')) cost.reads += value;
    else if (line.startsWith('rest_client_requests_total{')) cost.writes += value;
  }
  return cost;
}

/** Fields 14 and 15 of `/proc/PID/stat`, in hundredths of a second; the second field has blanks in parentheses. */
function cpuSeconds(pid: number): number {
  const [, rest = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
  const [user, system] = rest.split(' ').slice(11, 13).map(Number);
  return ((user ?? NaN) + (system ?? NaN)) / 100;
}

async function readLines({ origin }: Component): Promise<readonly string[]> {
  const response = await fetch(`${origin}/metrics`, { signal: AbortSignal.timeout(30_000) });
  return (await response.text()).split('\n');
}

/** Resolves when the operator has nothing to do for any paymaster, statuses included. */
export async function untilIdle(operator: Component): Promise<void> {
  const { depth, active } = {
    depth: 'workqueue_depth{name="paymaster"}',
    active: 'controller_runtime_active_workers{controller="paymaster"}',
  };
  await until(
    'the operator has nothing to do',
    async () => (await readMetric(operator, depth)) + (await readMetric(operator, active)) === 0,
    20 * 60_000,
  );
}
