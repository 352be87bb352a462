import type { ConfigStore } from '../../core/config/config-store.js';
import type { FundingMessages } from '../../core/usage/funding-messages.js';
import type { UsageStore } from '../../core/usage/usage-store.js';
import type { ResourceStore } from '../../core/resources/resource-store.js';
import type { Clock } from '../../core/units/time.js';
import type { DashboardDeps } from '../../server/dashboard/deps.js';
import { connectionOfThisRun } from '../kube/mode/connection.js';
import { kubeWorlds } from '../kube/mode/kube-worlds.js';
import { openEmbeddedDashboardWorld, openEmbeddedRpcWorld } from './embedded-world.js';

/** What a dashboard works on. */
export type DashboardStores = Pick<DashboardDeps, 'resources' | 'configs' | 'fundingMessages'>;

/** Empty stores that a dashboard's tests run on; nothing of an earlier world is in them. */
export type DashboardWorld = {
  /** The test's own hand: it may do everything, and returns when what it did can be relied on. */
  readonly resources: ResourceStore;
  readonly configs: ConfigStore;
  readonly usage: UsageStore;
  readonly messages: FundingMessages;
  /** How many replicas share the calls. */
  readonly replicas: number;
  /** What one more replica works on, with rights and connections of its own. */
  openReplica(): Promise<DashboardStores>;
  stop(): Promise<void>;
};

export type DashboardWorldOptions = {
  readonly clock: Clock;
  /** Whether an operator runs beside. Default: as is usual, in Kubernetes mode it does. */
  readonly operator?: boolean;
};

/** Empty stores that the rpc role's tests run on. */
export type RpcWorld = {
  /** The test's own hand, which writes as the operator would: a write returns when the server has been told of it. */
  readonly configs: ConfigStore;
  /** What the server is given. */
  readonly served: ConfigStore;
  readonly usage: UsageStore;
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
 * The mode that this run is about: the embedded stores of standalone, or the Kubernetes API and Redis where jest was
 * started with `jest.kubernetes.config.js`. The tests are the same.
 */
export function worldsOfThisRun(): Worlds {
  const connection = connectionOfThisRun();
  return connection === undefined ? embeddedWorlds : kubeWorlds(connection);
}
