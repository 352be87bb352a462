import { copyFileSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeTransport } from '../../../adapters/kube/transport.js';
import { findRoot } from '../../../standalone/root.js';
import { withPrograms } from '../program.js';
import { serviceAccountUser, type ControlPlane } from './control-plane.js';
import { onFreePort } from './free-port.js';
import { answers, startProcess, type ManagedProcess } from './managed-process.js';

export const systemNamespace = 'paymaster-system';
export type ComponentName = 'operator' | 'dashboard' | 'rpc';

/** One process that runs like a pod of the chart, with the same arguments, environment, files and rights. */
export type Component = Omit<ManagedProcess, 'endWithProcess'> & {
  readonly name: string;
  readonly origin: string;
};

export type ComponentDeps = {
  readonly plane: ControlPlane;
  /** Admin access, to read the rendered objects. */
  readonly transport: KubeTransport;
  /** Directory with the files of each process. */
  readonly directory: string;
  /** Directories that replace the mounted Secrets. */
  readonly mounts: { readonly keys: string; readonly signers: string; readonly chains: string };
  /** The chart's variables whose values only exist in a cluster, e.g. the URL of the database. */
  readonly environment: Readonly<Record<string, string>>;
};

type Container = {
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value?: string }[];
};

export type ComponentOptions = {
  /** Number of the replica; default 0. */
  readonly index?: number;
  /** Path that answers once the component is ready; default `/readyz`. */
  readonly path?: string;
  /** Default: a free one. */
  readonly port?: number;
  /** Further variables, e.g. options of Node. */
  readonly environment?: Readonly<Record<string, string>>;
};

/** Starts one replica and waits until it is ready. */
export async function startComponent(
  deps: ComponentDeps,
  component: ComponentName,
  options: ComponentOptions = {},
): Promise<Component> {
  const name = `paymaster-${component}-${options.index ?? 0}`;
  const pod = join(deps.directory, name);
  const container = await readContainer(deps.transport, component);
  mountFiles(deps, component, pod);
  const start = (port: number): Promise<Component> => startOn(port, { deps, name, pod, container, options });
  return options.port === undefined ? onFreePort(start) : start(options.port);
}

async function startOn(
  port: number,
  replica: {
    readonly deps: ComponentDeps;
    readonly name: string;
    readonly pod: string;
    readonly container: Container;
    readonly options: ComponentOptions;
  },
): Promise<Component> {
  const { deps, name, pod, container, options } = replica;
  const origin = `http://127.0.0.1:${port}`;
  const { hostname, port: apiPort } = new URL(deps.plane.url);
  const environment = {
    ...Object.fromEntries(
      container.env.map(({ name: key, value = '' }) => [key, deps.environment[key] ?? inPod(pod, value)]),
    ),
    ...options.environment,
    HOST: '127.0.0.1',
    PORT: String(port),
    // One port for everything: no proxy is in front of these processes.
    PAYMASTER_OPS_PORT: '',
    POD_NAME: name,
    POD_NAMESPACE: systemNamespace,
    KUBERNETES_SERVICE_HOST: hostname,
    KUBERNETES_SERVICE_PORT: apiPort,
    PAYMASTER_SERVICE_ACCOUNT_DIR: join(pod, 'service-account'),
  };
  const running = await startProcess({
    command: process.execPath,
    args: ['--no-warnings', ...withPrograms(container.args)],
    environment,
    directory: findRoot(import.meta.url),
    logFile: join(pod, 'log.jsonl'),
    isReady: () => answers(`${origin}${options.path ?? '/readyz'}`),
  });
  return {
    name,
    origin,
    get pid() {
      return running.pid;
    },
    logFile: running.logFile,
    signal: running.signal,
    isRunning: running.isRunning,
    restart: running.restart,
    ended: running.ended,
    stop: running.stop,
  };
}

async function readContainer(transport: KubeTransport, component: ComponentName): Promise<Container> {
  const path = `/apis/apps/v1/namespaces/${systemNamespace}/deployments/paymaster-${component}`;
  const deployment = (await transport.request({ method: 'GET', path })) as {
    spec: { template: { spec: { containers: Container[] } } };
  };
  const [container] = deployment.spec.template.spec.containers;
  if (container === undefined) throw new Error(`the chart renders no container for ${component}`);
  return container;
}

function mountFiles({ plane, mounts }: ComponentDeps, component: ComponentName, pod: string): void {
  const account = join(pod, 'service-account');
  const etc = join(pod, 'etc/paymaster');
  for (const folder of [account, join(etc, 'keys'), join(pod, 'var/lib/paymaster')])
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  const user = serviceAccountUser(systemNamespace, `paymaster-${component}`);
  writeFileSync(join(account, 'token'), plane.token(user), { mode: 0o600 });
  writeFileSync(join(account, 'ca.crt'), plane.ca());
  writeFileSync(join(account, 'namespace'), systemNamespace);
  const isMounted = (file: string): boolean => component !== 'rpc' || file.startsWith('webhook-');
  for (const key of readdirSync(mounts.keys).filter(isMounted))
    copyFileSync(join(mounts.keys, key), join(etc, 'keys', key));
  if (component === 'dashboard') return;
  for (const folder of ['signers', 'chains'] as const)
    if (!existsSync(join(etc, folder))) symlinkSync(mounts[folder], join(etc, folder));
}

/** Maps paths of the pod's file system into its folder. */
function inPod(pod: string, value: string): string {
  return /^\/(etc|var\/lib)\/paymaster(\/|$)/.test(value) ? join(pod, value) : value;
}
