import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { given } from '../core/units/given.js';
import { createChains } from '../adapters/chain/chains.js';
import { createUrlSource } from '../adapters/chain/url-source.js';
import { createKubeEventRecorder } from '../adapters/events/event-recorder.js';
import { createCredentialSource } from '../adapters/kube/credentials.js';
import { createKubeEpochMirror, rememberEpochs } from '../adapters/kube/epoch-mirror.js';
import { createKubeKeyAnnouncements, masterKeyConfigMap } from '../adapters/kube/key-announcements.js';
import { createKubeReleaseFacts } from '../adapters/kube/release-facts.js';
import { createKubeReports } from '../adapters/kube/reports.js';
import { watchConfigMaps } from '../adapters/kube/watched-config-maps.js';
import { createKubeTransport, type KubeTransport } from '../adapters/kube/transport.js';
import { createMetrics } from '../adapters/metrics/prometheus.js';
import type { Running } from '../adapters/process/run-process.js';
import { startAll, type Stops } from '../adapters/process/stops.js';
import { createAnnouncedKeys } from '../adapters/secrets/announced-keys.js';
import {
  createSessionKey,
  readMountedKeys,
  readMountedWebhookKeys,
} from '../adapters/secrets/master-keys.js';
import { keepFresh, loadSigners } from '../adapters/signer/signers.js';
import { createKubeConfigStore } from '../adapters/configs/kubernetes/configs.js';
import { createKubeResourceStore } from '../adapters/resources/kubernetes/resources.js';
import { createFileEpochMirror } from '../adapters/store/file-epoch-mirror.js';
import { withSnapshot } from '../adapters/configs/snapshot/with-snapshot.js';
import { createPlatformTokens } from '../adapters/secrets/platform-tokens.js';
import { createWebhookCaller } from '../adapters/webhook/webhook-caller.js';
import type { Ambient } from '../core/ambient.js';
import type { Logger } from '../core/log.js';
import type { EpochMirror } from '../core/usage/epoch.js';
import { systemClock } from '../core/units/time.js';
import type { ServerConfig } from './config.js';
import { createServer } from './server.js';
import type { Release } from './serving-checks.js';
import { createLedgerKeeping } from './ledger/keeping.js';
import { createUsageStore, openLedger } from './usage-store.js';

/**
 * Starts a server of one or both roles on the Kubernetes API. It answers health checks at once. `failed` never resolves:
 * outages of stores and chains pass, and a restart would not help.
 */
export async function startServerProcess(
  config: ServerConfig,
  log: Logger,
  signal: AbortSignal,
): Promise<Running> {
  return startAll(async (onStop, stop) => {
    // A signal must also abort a start that waits for the API server.
    const onAbort = (): void => void stop().catch((error: unknown) => log.warn('stopping failed', { error }));
    signal.addEventListener('abort', onAbort, { once: true });
    await startParts(config, log, onStop);
    signal.removeEventListener('abort', onAbort);
    return { failed: new Promise<never>(() => {}) };
  });
}

async function startParts(config: ServerConfig, log: Logger, onStop: Stops['add']): Promise<void> {
  const clock = systemClock;
  const metrics = createMetrics();
  const ambient = { clock, log, metrics };
  const isRpc = config.roles.includes('rpc');
  const isDashboard = config.roles.includes('dashboard');
  // Replicas share a service account: the audit log tells them apart by the user agent.
  const userAgent = `paymaster-${config.roles.join('-')} (${config.podName})`;
  const credentials = createCredentialSource(config.kube, clock);
  const transport = createKubeTransport({ credentials, userAgent, log, metrics });
  onStop(() => transport.stop());
  const common = { ...ambient, transport, random: Math.random };
  const kubeConfigs = createKubeConfigStore({ ...common, namespace: config.namespace });
  onStop(() => kubeConfigs.stop());
  const configs =
    config.snapshotDirectory === undefined
      ? kubeConfigs
      : withSnapshot({ ...ambient, configs: kubeConfigs, directory: config.snapshotDirectory });

  const usageParts = createUsageStore(config.usage, {
    identity: `${config.podName}_${randomBytes(4).toString('hex')}`,
    ...(isRpc ? { epochMirror: openEpochMirror(config, transport, log) } : {}),
    ...ambient,
    log: log.child({ part: 'usage' }),
  });
  onStop(() => usageParts.usage.stop());
  const ledger = config.ledger.isOn ? await openLedger(config.usage, config.ledger, ambient) : undefined;
  onStop(() => ledger?.stop());
  const keeping =
    isRpc && ledger !== undefined
      ? createLedgerKeeping({
          ledger,
          processes: usualReplicas,
          ...ambient,
          log: log.child({ part: 'ledger' }),
        })
      : undefined;
  keeping?.start();
  onStop(() => keeping?.stop());
  const chains = createChains({
    ...ambient,
    timeoutMs: 10_000,
    ...given({ urlDirectory: config.chainUrlDirectory }),
  });
  onStop(() => chains.stop());
  const signers = await loadSigners({
    access: 'group',
    log,
    metrics,
    environment: config.signerEnvironment,
    ...given({ directory: config.signerDirectory }),
  });
  onStop(() => signers.stop());
  if (isRpc) onStop(keepFresh(signers, log));
  const read = isDashboard ? readMountedKeys : readMountedWebhookKeys;
  // At the start, files without keys end the process with a message; later the keys in force stay.
  await read(config.keyDirectory);
  const watched = watchConfigMaps({ ...common, namespace: config.namespace, names: [masterKeyConfigMap] });
  onStop(() => watched.stop());
  const announced = createAnnouncedKeys({
    read: () => read(config.keyDirectory),
    announcements: createKubeKeyAnnouncements({
      transport,
      namespace: config.namespace,
      read: watched.read,
    }),
    log,
    metrics,
  });
  onStop(() => announced.stop());
  await announced.look();
  const webhooks = createWebhookCaller({
    ...config.webhookRules,
    ...ambient,
    masterKeys: announced.keys,
    log: log.child({ part: 'webhook' }),
  });
  onStop(() => webhooks.stop());

  const server = createServer({
    roles: config.roles,
    configs,
    ...usageParts,
    ...given({
      ledger: config.ledger.isOn ? usageParts.records : undefined,
      ledgerRoom: keeping?.room,
      names: ledger?.names,
      priceHeadersDirectory: config.priceHeadersDirectory,
      dashboard: isDashboard ? await dashboardDeps() : undefined,
    }),
    ...(isRpc
      ? {
          reports: createKubeReports({ transport, namespace: config.namespace, clock, log }),
        }
      : {}),
    release: createRelease(config, isRpc, ambient, transport),
    chains,
    signers,
    webhooks,
    webhookKeys: announced.keys,
    refusalsPerSecond: config.ledger.refusalsPerSecond,
    trustedProxies: config.trustedProxies,
    goodbyeMs,
    maxStalenessMs: config.maxStalenessMs,
    ...ambient,
  });
  onStop(() => server.stop());
  await server.listen(config.port, config.host, config.opsPort);

  async function dashboardDeps() {
    const resources = createKubeResourceStore({
      ...common,
      statusManager: 'paymaster-dashboard',
      now: () => clock.now(),
    });
    onStop(() => resources.stop());
    const events = createKubeEventRecorder({ ...common, component: 'dashboard', instance: config.podName });
    onStop(() => events.stop());
    const sessionKey = await createSessionKey({ directory: config.keyDirectory, log });
    onStop(() => sessionKey.stop());
    return {
      resources,
      events,
      usage: usageParts.reading,
      ...given({ ledger }),
      masterKeys: announced.keys,
      sessionKey: sessionKey.current,
      webhookUrls: config.webhookRules,
      quotas: config.quotas,
      notify: {
        everyMs: config.notifySeconds * 1000,
        ...given({ directory: config.notificationDirectory }),
      },
      ...config.callLimits,
      programmedTimeoutMs: config.programmedSeconds * 1000,
      hasConsole: config.hasConsole,
      ...given({ jsonRpcUrl: config.jsonRpcUrl }),
      ...(config.platformTokensFile !== undefined && {
        platformTokens: createPlatformTokens({ file: config.platformTokensFile, clock, log }),
      }),
    };
  }
}

/** The other pods, by what they have written down. Only the rpc role may write. */
function createRelease(
  config: ServerConfig,
  isRpc: boolean,
  ambient: Ambient,
  transport: KubeTransport,
): Release {
  const { namespace, usage, chainUrlDirectory } = config;
  const { host, port, database, user } = usage.kind === 'postgres' ? usage.address : {};
  return {
    facts: createKubeReleaseFacts({ ...ambient, transport, namespace, mayWrite: isRpc }),
    ...(host !== undefined && { store: JSON.stringify(['store', host, port, database, user]) }),
    hasUrls: async (endpoint) => {
      try {
        await createUrlSource(endpoint, { ...ambient, ...given({ urlDirectory: chainUrlDirectory }) })();
        return true;
      } catch {
        return false;
      }
    },
  };
}

/** A mirror in the system namespace, which is not lost together with the database; kept on disk for outages of the API server. */
function openEpochMirror(config: ServerConfig, transport: KubeTransport, log: Logger): EpochMirror {
  const mirror = createKubeEpochMirror({ transport, namespace: config.namespace });
  if (config.snapshotDirectory === undefined) return mirror;
  return rememberEpochs(mirror, createFileEpochMirror(join(config.snapshotDirectory, 'epochs')), log);
}

/** Of the rpc role, which no process counts: more of them let an organisation fill that much more of the ledger in an hour. */
const usualReplicas = 3;

/** Clients of a Service keep their connections to a pod after its endpoint is withdrawn. */
const goodbyeMs = 3_000;
