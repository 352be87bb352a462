import type { Connection } from '../../../standalone/connection.js';
import { startCluster, type Cluster } from '../../support/cluster/cluster.js';
import type { Component, ComponentName } from '../../support/cluster/component.js';
import { freePort } from '../../support/cluster/free-port.js';
import { applyQuickstart, describeQuickstart } from '../../support/cluster/quickstart.js';
import type { ResourceState } from '../../../standalone/resource-state.js';

/** The installation that `make run-kube` starts, with two operators unless a file needs one: the first leads. */
export type Installation = {
  readonly cluster: Cluster;
  readonly operators: readonly Component[];
  readonly dashboard: Component;
  readonly replicas: readonly Component[];
  readonly states: readonly ResourceState[];
  readonly connection: Required<Connection>;
  /** JSON-RPC address of the quickstart's paymaster on one replica. */
  rpcUrl(replica: Component): string;
};

/** Tests poll. */
const polled = {
  PAYMASTER_DASHBOARD_CALLS_PER_SECOND: '1000',
  PAYMASTER_DASHBOARD_CALLS_PER_SECOND_OF_ADDRESS: '1000',
  // A busy machine may need more than the usual two.
  PAYMASTER_DASHBOARD_PROGRAMMED_SECONDS: '60',
};
/** The operator looks at the announcement of master keys each second, instead of every ten. */
const looking = { PAYMASTER_KEY_SETTLE_SECONDS: '1' };
const quiet = { step: () => () => {}, line: () => {}, warn: () => {} };

export type InstallationOptions = {
  /** Number of operators; default 2. */
  readonly operators?: 1 | 2;
  /** Number of JSON-RPC servers; default 3. */
  readonly replicas?: number;
};

export async function startInstallation({
  operators = 2,
  replicas: replicaCount = 3,
}: InstallationOptions = {}): Promise<Installation> {
  const rpcPort = await freePort();
  const explaining = { PAYMASTER_JSON_RPC_URL: `http://127.0.0.1:${rpcPort}` };
  const optionsOf = (name: ComponentName) => ({
    environment: {
      ...(name === 'operator' ? looking : polled),
      ...(name === 'dashboard' ? explaining : {}),
    },
  });
  const cluster = await startCluster({ console: quiet });
  try {
    const first = await cluster.start('operator', optionsOf('operator'));
    const dashboard = await cluster.start('dashboard', { ...optionsOf('dashboard'), path: '/healthz' });
    applyQuickstart(cluster);
    const replicas = await Promise.all(
      Array.from({ length: replicaCount }, (_, index) =>
        cluster.start('rpc', { ...optionsOf('rpc'), index, ...(index === 0 && { port: rpcPort }) }),
      ),
    );
    const standbys =
      operators === 2 ? [await cluster.start('operator', { ...optionsOf('operator'), index: 1 })] : [];
    const { states, connection } = await describeQuickstart(
      cluster,
      { dashboard: dashboard.origin, rpc: replicas[0]?.origin ?? '' },
      AbortSignal.timeout(480_000),
      480_000,
    );
    const complete = connection as Required<Connection>;
    const all = [first, ...standbys];
    const endSupervision = supervise(all);
    return {
      cluster: {
        ...cluster,
        stop() {
          endSupervision();
          return cluster.stop();
        },
      },
      operators: all,
      dashboard,
      replicas,
      states,
      connection: complete,
      rpcUrl: (replica) => `${replica.origin}/api/v1/${complete.chainId}/${complete.apiKey}`,
    };
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

/**
 * As a kubelet does, starts operators again that end, e.g. since they could not renew their lease on a busy machine, or were killed
 * while they started. Returns a function that ends it.
 */
function supervise(operators: readonly Component[]): () => void {
  let isOver = false;
  async function keepRunning(component: Component): Promise<void> {
    for (;;) {
      await component.ended();
      if (isOver) return;
      await component.restart().catch(() => undefined);
    }
  }
  for (const operator of operators) void keepRunning(operator);
  return () => {
    isOver = true;
  };
}
