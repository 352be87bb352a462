import { createKubeEventRecorder } from '../../../adapters/events/event-recorder.js';
import { compiledObjects } from '../../../adapters/configs/kubernetes/compiled-object.js';
import { watchForeignChanges } from '../../../adapters/kube/foreign-changes.js';
import {
  createKubeTenantAccess,
  tenantBindings,
  type TenantBinding,
} from '../../../adapters/kube/tenant-access.js';
import type { OperatorDeps } from '../../../operator/operator-deps.js';
import type { KubeTransport } from '../../../adapters/kube/transport.js';
import { createKubeConnectionSecrets } from '../../../adapters/secrets/kube-secrets.js';
import { createKubeResourceStore } from '../../../adapters/resources/kubernetes/resources.js';
import { silentLogger } from '../../../core/log.js';
import { noMetrics } from '../../../core/metrics.js';
import type { Kind, Resources } from '../../../core/resources/kinds.js';
import type { Organisation } from '../../../core/resources/organisation.js';
import type { ApplyRequest, ResourceStore } from '../../../core/resources/resource-store.js';
import { systemClock } from '../../../core/units/time.js';
import { systemNamespace } from '../../support/cluster/component.js';
import { systemTimers, type Timers } from '../../../adapters/timers.js';
import { startTestOperator } from '../../build/operator.js';
import type { DashboardStores, DashboardWorld, DashboardWorldOptions } from '../../build/world.js';
import { until } from '../../support/until.js';
import type { KubeParts } from './kube-worlds.js';
import { ensureNamespace, untilAllowed } from './system-namespace.js';

/**
 * Replicas of the dashboard under its role, and beside them the operator under its own, which gives them their access to
 * each organisation's namespace.
 */
export async function openKubeDashboardWorld(
  parts: KubeParts,
  { clock, operator: hasOperator = true }: DashboardWorldOptions,
): Promise<Omit<DashboardWorld, 'stop'>> {
  const admin = parts.transport('admin');
  const dashboard = parts.transport('dashboard');
  const resources = openResources(parts, admin);
  if (hasOperator) await startKubeOperator(parts, clock);
  const usage = await parts.usage(clock);
  return {
    resources: { ...resources, apply: applyAndWait },
    configs: parts.configs(admin, clock),
    usage,
    texts: usage,
    replicas: 2,
    openReplica,
  };

  async function openReplica(): Promise<DashboardStores> {
    const transport = parts.transport('dashboard');
    const ownUsage = await parts.usage(clock);
    return {
      resources: openResources(parts, transport),
      configs: parts.configs(transport, clock),
      usage: ownUsage.reading,
      texts: ownUsage,
    };
  }

  /** Waits until the dashboard has access to the organisation's namespace, which the operator grants after a moment. */
  async function applyAndWait<K extends Kind>(request: ApplyRequest<K>): Promise<Resources[K]> {
    const applied = await resources.apply(request);
    if (applied.kind !== 'Organisation') return applied;
    await ensureNamespace(admin, applied.spec.namespace);
    if (!hasOperator) await tenantAccess(admin).grant(applied.spec.namespace);
    else
      await until(`the operator has granted access to ${applied.spec.namespace}`, async () =>
        hasAccess(await resources.get('Organisation', request.key), applied.metadata.generation),
      );
    await untilAllowed(dashboard, applied.spec.namespace, 'paymasters');
    return applied;
  }
}

/** The operator under its role. Several may run one after the other, since none is elected leader. */
export async function startKubeOperator(
  parts: KubeParts,
  clock: DashboardWorldOptions['clock'],
  timers: Timers = systemTimers,
  deps: Partial<OperatorDeps> = {},
): Promise<{ stop(): Promise<void> }> {
  const transport = parts.transport('operator');
  const common = { transport, clock: systemClock, log: silentLogger, metrics: noMetrics };
  const events = createKubeEventRecorder({
    ...common,
    component: 'operator',
    instance: 'operator-of-the-tests',
  });
  parts.onStop(() => events.stop());
  const operator = await startTestOperator({
    resources: openResources(parts, transport),
    configs: parts.configs(transport, clock),
    clock,
    timers,
    events,
    tenantAccess: tenantAccess(transport),
    connectionSecrets: createKubeConnectionSecrets({ transport }),
    foreignChanges: (onChange) =>
      watchForeignChanges(
        {
          ...common,
          random: Math.random,
          objects: [...compiledObjects(parts.namespace), ...tenantBindings(bindings)],
        },
        onChange,
      ),
    ...deps,
  });
  parts.onStop(() => operator.stop());
  return operator;
}

/** Calls as the identity of this transport. */
export function openResources(parts: KubeParts, transport: KubeTransport): ResourceStore {
  const store = createKubeResourceStore({
    transport,
    statusManager: 'paymaster-operator',
    log: silentLogger,
    metrics: noMetrics,
    now: () => systemClock.now(),
    random: Math.random,
  });
  parts.onStop(() => store.stop());
  return store;
}

const bindings: readonly TenantBinding[] = [
  {
    name: 'paymaster-dashboard',
    clusterRole: `${systemNamespace}-paymaster-tenant`,
    serviceAccount: { namespace: systemNamespace, name: 'paymaster-dashboard' },
  },
  {
    name: 'paymaster-connection-secrets',
    clusterRole: `${systemNamespace}-paymaster-connection-secrets`,
    serviceAccount: { namespace: systemNamespace, name: 'paymaster-operator' },
  },
];

function tenantAccess(transport: KubeTransport) {
  return createKubeTenantAccess({ transport, bindings });
}

function hasAccess(organisation: Organisation | undefined, generation: number): boolean {
  const access = organisation?.status?.conditions?.find(({ type }) => type === 'DashboardAccess');
  return access?.status === 'True' && access.observedGeneration >= generation;
}
