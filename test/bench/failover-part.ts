import type { KubeTransport } from '../../adapters/kube/transport.js';
import { startCluster } from '../support/cluster/cluster.js';
import { systemNamespace, type Component } from '../support/cluster/component.js';
import { until } from '../support/until.js';
import type { Goal } from './goals.js';
import type { BenchOptions } from './options.js';
import { median } from './statistics.js';

export type FailoverResult = {
  /** Milliseconds until another operator held the Lease, by how the leader was lost. */
  readonly millis: Readonly<Record<Loss, readonly number[]>>;
  readonly goals: readonly Goal[];
};

const losses = ['SIGKILL', 'SIGSTOP'] as const;
type Loss = (typeof losses)[number];

const quiet = { step: () => () => {}, line: () => {}, warn: () => {} };
/** A leader's lease is good for 15 s after a standby last saw it renewed; two polls and a busy machine come on top. */
const mostMs = 24_000;

/**
 * From losing the leader of two operators, killed or hung, to the other one leading, on a real API server: `repeats`
 * times each. The lost operator is then woken or started again, as the standby of the next round.
 */
export async function measureFailover({ repeats }: Pick<BenchOptions, 'repeats'>): Promise<FailoverResult> {
  const cluster = await startCluster({ console: quiet });
  try {
    const operators = [await cluster.start('operator'), await cluster.start('operator', { index: 1 })];
    const millis: Record<Loss, number[]> = { SIGKILL: [], SIGSTOP: [] };
    for (let round = 0; round < repeats; round += 1)
      for (const loss of losses) millis[loss].push(await loseLeader(cluster.transport, operators, loss));
    return { millis, goals: losses.flatMap((loss) => goalsOf(loss, millis[loss])) };
  } finally {
    await cluster.stop();
  }
}

async function loseLeader(
  transport: KubeTransport,
  operators: readonly Component[],
  loss: Loss,
): Promise<number> {
  const identity = await holder(transport);
  const leader = operators.find(({ name }) => identity.startsWith(`${name}_`));
  if (leader === undefined)
    throw new Error(`the lease is held by "${identity}", which is not an operator of this bench`);
  const ended = leader.ended();
  const lostAt = performance.now();
  leader.signal(loss);
  await until(
    'another leads',
    async () => {
      const present = await holder(transport);
      return present !== '' && present !== identity;
    },
    120_000,
  );
  const took = performance.now() - lostAt;
  // An operator that hung finds that it lost the lease and ends by itself.
  leader.signal('SIGCONT');
  await ended;
  await leader.restart();
  return took;
}

async function holder(transport: KubeTransport): Promise<string> {
  const path = `/apis/coordination.k8s.io/v1/namespaces/${systemNamespace}/leases/paymaster-operator`;
  const lease = (await transport.request({ method: 'GET', path })) as {
    readonly spec?: { readonly holderIdentity?: string };
  };
  return lease.spec?.holderIdentity ?? '';
}

function goalsOf(loss: Loss, millis: readonly number[]): readonly Goal[] {
  const what = loss === 'SIGKILL' ? 'leader killed → another leads' : 'leader hangs → another leads';
  return [
    { name: `${what}, p50 of ${millis.length}`, value: median(millis), unit: 'ms' },
    { name: `${what}, most`, value: Math.max(...millis), unit: 'ms', required: { atMost: mostMs } },
  ];
}
