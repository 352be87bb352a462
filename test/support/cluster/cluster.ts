import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readMountedKeys } from '../../../adapters/secrets/master-keys.js';
import { keysOfFiles } from '../../../core/master-keys.js';
import { startAll, type Stops } from '../../../adapters/process/stops.js';
import { createKubeConfigStore } from '../../../adapters/configs/kubernetes/configs.js';
import { createKubeResourceStore } from '../../../adapters/resources/kubernetes/resources.js';
import { silentLogger } from '../../../core/log.js';
import { noMetrics } from '../../../core/metrics.js';
import { systemClock } from '../../../core/units/time.js';
import type { Console } from '../../../standalone/console.js';
import { startDevChain } from '../../../standalone/dev-chain.js';
import { findRoot } from '../../../standalone/root.js';
import { putDeployedState } from '../../chain/support/deployed-state.js';
import {
  startComponent,
  systemNamespace,
  type Component,
  type ComponentDeps,
  type ComponentName,
  type ComponentOptions,
} from './component.js';
import { serviceAccountUser, startControlPlane, type ControlPlane } from './control-plane.js';
import { startPostgresProcess } from './postgres.js';

/**
 * A whole installation as processes of this machine: a real API server with the objects that the chart renders, PostgreSQL, a
 * dev chain, and the components that were started, each with its own rights.
 */
export type Cluster = Readonly<Awaited<ReturnType<typeof startCluster>>>;

export type ClusterOptions = {
  readonly console: Console;
  readonly apiServerFlags?: readonly string[];
  /** URL at which wallets reach the JSON-RPC server, as written into connection Secrets. */
  readonly publicRpcUrl?: string;
  /** Called when the API server answers, before anything is installed. */
  readonly prepare?: (plane: ControlPlane) => Promise<void>;
};

const components = ['operator', 'dashboard', 'rpc'] as const;

/**
 * Starts the stores and the chain, and installs the chart's objects; the caller starts the components. `stop` stops
 * everything in reverse order, and removes the files of the control plane. It may be called twice.
 */
export async function startCluster(options: ClusterOptions) {
  return startAll((onStop) => startParts(options, onStop));
}

async function startParts(options: ClusterOptions, onStop: Stops['add']) {
  const { console } = options;
  const apiDone = console.step('Starting etcd and kube-apiserver');
  const groups = ['system:serviceaccounts', `system:serviceaccounts:${systemNamespace}`];
  const plane = await startControlPlane({
    users: Object.fromEntries(
      components.map((name) => [serviceAccountUser(systemNamespace, `paymaster-${name}`), groups]),
    ),
    ...(options.apiServerFlags === undefined ? {} : { apiServerFlags: options.apiServerFlags }),
  });
  onStop(() => plane.stop());
  const transport = plane.transport();
  onStop(() => transport.stop());
  apiDone(plane.url);
  await options.prepare?.(plane);

  const installDone = console.step('Installing CRDs, roles and policies of the chart');
  plane.kubectl(['apply', '--server-side', '-f', join(findRoot(import.meta.url), 'charts/install.yaml')]);
  plane.kubectl(['wait', '--for=condition=Established', '--timeout=120s', 'crd', '--all']);
  installDone(systemNamespace);

  const directory = join(plane.directory, 'paymaster');
  const mounts = makeMounts(directory);
  const postgresDone = console.step('Starting PostgreSQL');
  const postgres = await startPostgresProcess(directory);
  onStop(() => postgres.stop());
  postgresDone(postgres.url);
  const chainStateFile = join(directory, 'chain-state.json');
  await putDeployedState(chainStateFile);
  const chain = await startDevChain({
    config: { chainPort: { kind: 'any' } },
    directory: { urlDirectory: mounts.chains, signerDirectory: mounts.signers, chainStateFile },
    log: silentLogger,
    console,
  });
  onStop(() => chain.stop());

  const common = {
    transport,
    clock: systemClock,
    log: silentLogger,
    metrics: noMetrics,
    random: Math.random,
  };
  const resources = createKubeResourceStore({
    ...common,
    statusManager: 'paymaster-operator',
    now: () => systemClock.now(),
  });
  onStop(() => resources.stop());
  const configs = createKubeConfigStore({ ...common, namespace: systemNamespace });
  onStop(() => configs.stop());
  const deps: ComponentDeps = {
    plane,
    transport,
    directory,
    mounts,
    environment: {
      PAYMASTER_DATABASE_URL: postgres.url,
      PAYMASTER_DATABASE_PASSWORD_FILE: '',
      PAYMASTER_DATABASE_CA_FILE: '',
      PAYMASTER_WEBHOOK_ALLOW_HTTP: 'true',
      PAYMASTER_WEBHOOK_ALLOW_LOOPBACK: 'true',
      ...(options.publicRpcUrl === undefined
        ? {}
        : { PAYMASTER_PUBLIC_RPC_URL: options.publicRpcUrl, PAYMASTER_JSON_RPC_URL: options.publicRpcUrl }),
    },
  };
  const started: Component[] = [];
  // Together, since each serves on for seconds while its clients learn that it leaves.
  onStop(async () => void (await Promise.all(started.map((component) => component.stop()))));
  return {
    plane,
    /** Access as administrator. */
    transport,
    resources,
    configs,
    masterKeys: keysOfFiles(await readMountedKeys(mounts.keys)),
    postgres,
    chainRpcUrl: chain.url,
    directory,
    async start(component: ComponentName, startOptions?: ComponentOptions): Promise<Component> {
      const one = await startComponent(deps, component, startOptions);
      started.push(one);
      return one;
    },
  };
}

function makeMounts(directory: string): ComponentDeps['mounts'] {
  const mounts = {
    keys: join(directory, 'keys'),
    signers: join(directory, 'signers'),
    chains: join(directory, 'chains'),
  };
  for (const folder of Object.values(mounts)) {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    chmodSync(folder, 0o700);
  }
  for (const name of ['master.key', 'webhook-master.key', 'session.key'])
    writeFileSync(join(mounts.keys, name), `${randomBytes(32).toString('hex')}\n`, { mode: 0o600 });
  return mounts;
}
