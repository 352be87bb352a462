import { until } from '../../support/until.js';
import type { Component } from '../../support/cluster/component.js';

/** The sample of a component's `/metrics` with this name and label set, e.g. `workqueue_depth{name="paymaster"}`. */
export async function readMetric({ name, origin }: Component, sample: string): Promise<number> {
  const response = await fetch(`${origin}/metrics`, { signal: AbortSignal.timeout(30_000) });
  const line = (await response.text()).split('\n').find((each) => each.startsWith(`${sample} `));
  if (line === undefined) throw new Error(`${name} has no metric ${sample}`);
  return Number(line.slice(sample.length));
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
