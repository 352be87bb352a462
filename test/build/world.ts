import type { ConfigStore } from '../../core/config/config-store.js';
import type { Ledger, LedgerWriter } from '../../core/ledger/ledger.js';
import type { KeptTexts } from '../../core/usage/kept-texts.js';
import type { UsageStore } from '../../core/usage/usage-store.js';
import type { ResourceStore } from '../../core/resources/resource-store.js';
import type { Clock } from '../../core/units/time.js';
import type { DashboardDeps } from '../../server/dashboard/deps.js';
import { connectionOfThisRun } from '../kube/mode/connection.js';
import { kubeWorlds } from '../kube/mode/kube-worlds.js';
import { openEmbeddedDashboardWorld, openEmbeddedRpcWorld } from './embedded-world.js';

/** The stores of a dashboard. */
export type DashboardStores = Pick<DashboardDeps, 'resources' | 'configs' | 'texts' | 'usage'>;

/** Empty stores for a dashboard's tests; they contain nothing from an earlier world. */
export type DashboardWorld = {
  /** The test's access: it may do everything, and each call returns when its effect is visible to the servers. */
  readonly resources: ResourceStore;
  readonly configs: ConfigStore;
  readonly usage: UsageStore;
  readonly texts: KeptTexts;
  /** Number of replicas that share the calls. */
  readonly replicas: number;
  /** The stores of one more replica, with its own rights and connections. */
  openReplica(): Promise<DashboardStores>;
  stop(): Promise<void>;
};

export type DashboardWorldOptions = {
  readonly clock: Clock;
  /** Whether an operator runs too. Default: only in Kubernetes mode. */
  readonly operator?: boolean;
};

/** Empty stores that the rpc role's tests run on. */
export type RpcWorld = {
  /** Writes as the operator would, for the test: a write returns when the server has been notified of it. */
  readonly configs: ConfigStore;
  /** The store that the server gets. */
  readonly served: ConfigStore;
  readonly usage: UsageStore;
  /** Where the server's records go, and where they are read. */
  readonly records: LedgerWriter;
  readonly ledger: Pick<Ledger, 'usage' | 'decisions' | 'past'>;
  stop(): Promise<void>;
};

export type Worlds = {
  openDashboardWorld(options: DashboardWorldOptions): Promise<DashboardWorld>;
  openRpcWorld(options: { readonly clock: Clock }): Promise<RpcWorld>;
};

const embeddedWorlds: Worlds = {
  openDashboardWorld: openEmbeddedDashboardWorld,
  openRpcWorld: openEmbeddedRpcWorld,
};

/**
 * The mode that this run is about: the embedded stores of standalone, or the Kubernetes API and PostgreSQL where jest was
 * started with `jest.kubernetes.config.js`. The tests are the same.
 */
export function worldsOfThisRun(): Worlds {
  const connection = connectionOfThisRun();
  return connection === undefined ? embeddedWorlds : kubeWorlds(connection);
}
