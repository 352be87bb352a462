import { startCluster, type Cluster } from '../../support/cluster/cluster.js';
import type { Component } from '../../support/cluster/component.js';
import { applyQuickstart } from '../../support/cluster/quickstart.js';
import { createConsole } from '../../../standalone/console.js';
import { until } from '../../support/until.js';
import { watchCompiled, type CompiledWatch } from './compiled.js';
import { createFleet, type Fleet } from './fleet.js';
import { inspectable } from './inspector.js';

/** The measured installation: one operator and three RPC replicas on a real API server, and the paymasters that they serve. */
export type BenchInstallation = {
  readonly cluster: Cluster;
  readonly operator: Component;
  readonly replicas: readonly Component[];
  readonly fleet: Fleet;
  readonly compiled: CompiledWatch;
  stop(): Promise<void>;
};

const replicaCount = 3;

/** `paymasters`: how many there will be. */
export async function startBenchInstallation(paymasters: number): Promise<BenchInstallation> {
  const console = createConsole((text) => process.stdout.write(text), Date.now);
  const cluster = await startCluster({ console });
  try {
    const done = console.step(`Starting the operator and ${replicaCount} RPC replicas`);
    const operator = await cluster.start('operator', { environment: inspectable });
    applyQuickstart(cluster);
    const replicas = await Promise.all(
      Array.from({ length: replicaCount }, (_, index) =>
        cluster.start('rpc', { index, environment: inspectable }),
      ),
    );
    done('ready');
    const template = await cluster.resources.get('SmartContract', {
      namespace: 'quickstart',
      name: 'shop-counter',
    });
    const [chain] = await cluster.resources.list('Chain');
    if (template === undefined || chain === undefined) throw new Error('the quickstart was not applied');
    await until('the chain is compiled', async () => (await cluster.configs.listChains()).length > 0, 60_000);
    const fleet = createFleet(cluster, chain.spec.chainId, template);
    await fleet.found(paymasters);
    const compiled = watchCompiled(cluster.configs);
    return {
      cluster,
      operator,
      replicas,
      fleet,
      compiled,
      async stop() {
        compiled.stop();
        await cluster.stop();
      },
    };
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}
