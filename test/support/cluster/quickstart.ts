import { join } from 'node:path';
import { organisationLabel } from '../../../core/tenant-access.js';
import { ensureAuthToken } from '../../../standalone/auth-token.js';
import { describeConnection, type Connection } from '../../../standalone/connection.js';
import { watchReadiness } from '../../../standalone/readiness.js';
import type { ResourceState } from '../../../standalone/resource-state.js';
import { findRoot } from '../../../standalone/root.js';
import type { Cluster } from './cluster.js';

/** Applies the manifests of examples/quickstart with kubectl, as a person would. */
export function applyQuickstart({ plane }: Cluster): void {
  const folder = join(findRoot(import.meta.url), 'examples/quickstart');
  plane.kubectl(['create', 'namespace', 'quickstart']);
  plane.kubectl(['label', 'namespace', 'quickstart', organisationLabel]);
  plane.kubectl(['apply', '-f', folder]);
}

/** Waits until the resources are ready (at most `waitMs`, default 15 s), gives the organisation a token, and says how to call everything. */
export async function describeQuickstart(
  cluster: Cluster,
  origins: { readonly dashboard: string; readonly rpc: string },
  signal: AbortSignal,
  waitMs?: number,
): Promise<{ readonly states: readonly ResourceState[]; readonly connection: Connection }> {
  const { resources, configs, masterKeys, directory, chainRpcUrl } = cluster;
  const authToken = await ensureAuthToken({ config: {}, directory: { path: directory }, resources });
  const states = await watchReadiness(resources, signal, { waitMs });
  const connection = await describeConnection({
    origin: origins.rpc,
    chainRpcUrl,
    authToken,
    masterKeys,
    resources,
    configs,
  });
  return { states, connection: { ...connection, dashboardUrl: origins.dashboard } };
}
