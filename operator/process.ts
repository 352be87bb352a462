import { randomBytes } from 'node:crypto';
import { given } from '../core/units/given.js';
import { createChains } from '../adapters/chain/chains.js';
import { createCredentialSource } from '../adapters/kube/credentials.js';
import { createKubeEpochCopies, epochConfigMap } from '../adapters/kube/epoch-mirror.js';
import { createKubeEventRecorder } from '../adapters/events/event-recorder.js';
import { watchForeignChanges } from '../adapters/kube/foreign-changes.js';
import { guardWrites } from '../adapters/kube/guarded-transport.js';
import { createKubeKeyAnnouncements, masterKeyConfigMap } from '../adapters/kube/key-announcements.js';
import { createLeaderElection } from '../adapters/kube/leader-election.js';
import { createKubeReports, reportsConfigMap } from '../adapters/kube/reports.js';
import {
  createKubeTenantAccess,
  tenantBindings,
  type TenantBinding,
} from '../adapters/kube/tenant-access.js';
import { createKubeTransport } from '../adapters/kube/transport.js';
import { watchConfigMaps } from '../adapters/kube/watched-config-maps.js';
import { createMetrics } from '../adapters/metrics/prometheus.js';
import type { Running } from '../adapters/process/run-process.js';
import { startAll, type Stops } from '../adapters/process/stops.js';
import { createKubeConnectionSecrets } from '../adapters/secrets/kube-secrets.js';
import { readMountedKeys } from '../adapters/secrets/master-keys.js';
import { keepFresh, loadSigners } from '../adapters/signer/signers.js';
import { compiledObjects } from '../adapters/configs/kubernetes/compiled-object.js';
import { createKubeConfigStore } from '../adapters/configs/kubernetes/configs.js';
import { createKubeResourceStore } from '../adapters/resources/kubernetes/resources.js';
import type { Logger } from '../core/log.js';
import { systemClock } from '../core/units/time.js';
import type { OperatorConfig } from './config.js';
import { createHealth } from './health.js';
import { createOperator } from './operator.js';

const fieldManager = 'paymaster-operator';

/**
 * The operator on the Kubernetes API. It serves health at once, reads resources as soon as the API server answers, and
 * writes nothing before this process leads.
 */
export async function startOperatorProcess(config: OperatorConfig, log: Logger): Promise<Running> {
  return startAll((onStop) => startParts(config, log, onStop));
}

async function startParts(config: OperatorConfig, log: Logger, onStop: Stops['add']) {
  const { namespace, podName } = config;
  const clock = systemClock;
  const metrics = createMetrics();
  const ambient = { clock, log, metrics };
  // Files that hold no keys end the start with a message. After the start, the keys in force stay.
  await readMountedKeys(config.keyDirectory);
  const signers = await loadSigners({
    directory: config.signerDirectory,
    environment: config.signerEnvironment,
    ...given({ place: config.signerSecret && `Secret ${namespace}/${config.signerSecret}` }),
    access: 'group',
    log,
    metrics,
  });
  onStop(() => signers.stop());
  onStop(keepFresh(signers, log));
  const credentials = createCredentialSource(config.kube, clock);
  const transport = createKubeTransport({
    credentials,
    // Replicas share an account: this name distinguishes them in the audit log.
    userAgent: `${fieldManager} (${podName})`,
    ...ambient,
  });
  onStop(() => transport.stop());
  const chains = createChains({ ...ambient, urlDirectory: config.chainUrlDirectory, timeoutMs: 10_000 });
  onStop(() => chains.stop());
  const common = { ...ambient, transport, random: Math.random };
  const watched = watchConfigMaps({
    ...common,
    namespace,
    names: [reportsConfigMap, epochConfigMap, masterKeyConfigMap],
  });
  onStop(() => watched.stop());
  const leader = createLeaderElection({
    ...common,
    namespace,
    name: config.leaseName,
    // A pod that is restarted in place keeps its name; it must not be mistaken for its predecessor.
    identity: `${podName}_${randomBytes(4).toString('hex')}`,
    monotonic: () => performance.now(),
  });
  const guarded = { ...common, transport: guardWrites(transport, leader.leftMs) };
  const resources = createKubeResourceStore({
    ...guarded,
    statusManager: fieldManager,
    now: () => clock.now(),
  });
  onStop(() => resources.stop());
  const configs = createKubeConfigStore({ ...guarded, namespace });
  onStop(() => configs.stop());
  const events = createKubeEventRecorder({ ...guarded, component: 'operator', instance: podName });
  onStop(() => events.stop());
  const bindings = listBindings(config);
  const lost = Promise.withResolvers<string>();
  const operator = createOperator({
    resources,
    configs,
    chains,
    signers,
    masterKeys: {
      read: () => readMountedKeys(config.keyDirectory),
      announcements: createKubeKeyAnnouncements({
        transport: guarded.transport,
        namespace,
        read: watched.read,
      }),
      place:
        config.keySecret === undefined
          ? `Directory ${config.keyDirectory}`
          : `Secret ${namespace}/${config.keySecret}`,
      settleMs: config.keySettleSeconds * 1000,
    },
    connectionSecrets: createKubeConnectionSecrets(guarded),
    rpcUrlOf: ({ chainId }, apiKey) => `${config.publicRpcUrl}/api/v1/${chainId}/${apiKey}`,
    ...ambient,
    webhookRules: config.webhookRules,
    platform: config.platform,
    ...given({
      priceHeadersDirectory: config.priceHeadersDirectory,
      urlPlace: config.chainUrlSecret && `Secret ${namespace}/${config.chainUrlSecret}`,
    }),
    events,
    ...(bindings.length === 0 ? {} : { tenantAccess: createKubeTenantAccess({ ...guarded, bindings }) }),
    foreignChanges: (onChange) =>
      watchForeignChanges(
        { ...common, objects: [...compiledObjects(namespace), ...tenantBindings(bindings)] },
        onChange,
      ),
    reports: createKubeReports({ transport, namespace, clock, log, read: watched.read }),
    onReports: watched.onChange,
    usageEpochs: createKubeEpochCopies(watched.read),
    leader,
    onLost: () => lost.resolve('another operator leads'),
  });
  onStop(() => operator.stop());
  const health = createHealth({ isReady: operator.ready, metrics, log });
  onStop(() => health.stop());
  const port = await health.listen(config.port, config.host);
  log.info('operator started', { port, namespace });
  operator.start().catch((error: unknown) => lost.resolve(`the operator could not start: ${String(error)}`));
  return { failed: lost.promise };
}

/** The role bindings in the namespace of each Organisation. */
function listBindings({ namespace, tenantAccess, secretAccess }: OperatorConfig): readonly TenantBinding[] {
  const bind = (
    name: TenantBinding['name'],
    grant: OperatorConfig['tenantAccess'],
  ): readonly TenantBinding[] =>
    grant === undefined
      ? []
      : [{ name, clusterRole: grant.clusterRole, serviceAccount: { namespace, name: grant.serviceAccount } }];
  return [
    ...bind('paymaster-dashboard', tenantAccess),
    ...bind('paymaster-connection-secrets', secretAccess),
  ];
}
