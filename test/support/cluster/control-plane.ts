import { execFileSync } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { silentLogger } from '../../../core/log.js';
import { noMetrics } from '../../../core/metrics.js';
import { createKubeTransport, type KubeTransport } from '../../../adapters/kube/transport.js';
import { findRoot } from '../../../standalone/root.js';
import { freePort, onFreePort } from './free-port.js';
import { kubeconfigText } from './kubeconfig.js';
import { startProcess, type ManagedProcess } from './managed-process.js';

/** User name of a component at the API server. */
export const serviceAccountUser = (namespace: string, name: string): string =>
  `system:serviceaccount:${namespace}:${name}`;

/** A real kube-apiserver on a real etcd, on free loopback ports, with one bearer token per user. */
export type ControlPlane = Readonly<Awaited<ReturnType<typeof startControlPlane>>>;

export type ControlPlaneOptions = {
  /** More users (name → groups), e.g. a service account that a role is bound to. */
  readonly users?: Readonly<Record<string, readonly string[]>>;
  readonly apiServerFlags?: readonly string[];
};

/** Folder with the binaries. They are built once into the user's cache, which takes minutes. Throws an error that says what to install. */
export function findAssets(): string {
  return execFileSync('sh', [join(findRoot(import.meta.url), 'hack/envtest/build.sh')], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  }).trim();
}

export async function startControlPlane(options: ControlPlaneOptions = {}) {
  const assets = findAssets();
  const directory = mkdtempSync(join(tmpdir(), 'paymaster-envtest-'));
  const users = { admin: ['system:masters'], ...options.users };
  const tokens = new Map(Object.keys(users).map((user) => [user, randomBytes(16).toString('hex')]));
  writeFileSync(
    join(directory, 'tokens.csv'),
    Object.entries(users)
      .map(([user, groups]) => `${tokens.get(user)},${user},${user},"${groups.join(',')}"`)
      .join('\n'),
    { mode: 0o600 },
  );
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  writeFileSync(join(directory, 'sa.key'), privateKey.export({ type: 'pkcs8', format: 'pem' }), {
    mode: 0o600,
  });
  writeFileSync(join(directory, 'sa.pub'), publicKey.export({ type: 'spki', format: 'pem' }));
  writeFileSync(
    join(directory, 'audit.yaml'),
    'apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: Metadata}]\n',
  );

  const etcd = await onFreePort(async (client) =>
    startEtcd({ client, peer: await freePort() }, assets, directory),
  );
  const ca = (): string => readFileSync(join(directory, 'certs/apiserver.crt'), 'utf8');
  const transportTo = (url: string, user: string): KubeTransport =>
    createKubeTransport({
      credentials: {
        load: async () => ({ server: url, ca: ca(), authorization: `Bearer ${tokens.get(user)}` }),
      },
      userAgent: `envtest/${user}`,
      log: silentLogger,
      metrics: noMetrics,
    });
  // Its own certificate and a token that only it knows: no other server on the port passes for it.
  const isReady = async (url: string): Promise<boolean> => {
    if (!existsSync(join(directory, 'certs/apiserver.crt'))) return false;
    const probe = transportTo(url, 'admin');
    try {
      await probe.stream({ method: 'GET', path: '/readyz' });
      return true;
    } catch {
      return false;
    } finally {
      await probe.stop();
    }
  };
  const startApiServer = async (securePort: number): Promise<{ url: string; apiServer: ManagedProcess }> => {
    const url = `https://127.0.0.1:${securePort}`;
    const apiServer = await startProcess({
      command: join(assets, 'kube-apiserver'),
      args: [
        `--etcd-servers=${etcd.url}`,
        `--cert-dir=${join(directory, 'certs')}`,
        '--bind-address=127.0.0.1',
        `--secure-port=${securePort}`,
        '--authorization-mode=RBAC',
        '--service-cluster-ip-range=10.0.0.0/24',
        '--allow-privileged=true',
        '--disable-admission-plugins=ServiceAccount',
        '--service-account-issuer=https://kubernetes.default.svc',
        `--service-account-key-file=${join(directory, 'sa.pub')}`,
        `--service-account-signing-key-file=${join(directory, 'sa.key')}`,
        `--token-auth-file=${join(directory, 'tokens.csv')}`,
        `--audit-policy-file=${join(directory, 'audit.yaml')}`,
        `--audit-log-path=${join(directory, 'audit.log')}`,
        ...(options.apiServerFlags ?? []),
      ],
      logFile: join(directory, 'apiserver.log'),
      isReady: () => isReady(url),
    });
    return { url, apiServer };
  };
  const { url, apiServer } = await onFreePort(startApiServer);
  const transport = (user = 'admin'): KubeTransport => transportTo(url, user);

  const kubeconfig = (user: string): string => {
    const file = join(directory, `kubeconfig-${user}`);
    const token = tokens.get(user) ?? '';
    writeFileSync(file, kubeconfigText({ server: url, ca: ca(), token }), { mode: 0o600 });
    return file;
  };
  return {
    url,
    /** URL of etcd's client API, without TLS. */
    etcdUrl: etcd.url,
    assets,
    directory,
    apiServer,
    etcd: etcd.process,
    /** PEM of the server's own certificate. */
    ca,
    /** Bearer token of `admin` (system:masters) or of a user given to `startControlPlane`. */
    token: (user: string): string => tokens.get(user) ?? '',
    kubeconfig,
    transport,
    kubectl: (
      args: readonly string[],
      { input, user = 'admin' }: { readonly input?: string; readonly user?: string } = {},
    ): string => {
      for (let left = 5; ; left -= 1)
        try {
          return execFileSync(join(assets, 'kubectl'), [`--kubeconfig=${kubeconfig(user)}`, ...args], {
            encoding: 'utf8',
            stdio: 'pipe',
            timeout: 240_000,
            ...(input === undefined ? {} : { input }),
          });
        } catch (error) {
          // It reads the schemas before it sends anything, and a busy server takes longer than it waits.
          if (left === 0 || !/error validating .*Client\.Timeout/s.test(String(error))) throw error;
        }
    },
    auditLog: (): string => readFileSync(join(directory, 'audit.log'), 'utf8'),
    async stop(): Promise<void> {
      for (const each of [apiServer, etcd.process]) {
        each.signal('SIGCONT');
        each.signal('SIGKILL');
        await each.ended();
      }
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** One member on two loopback ports; its name proves that it is this one that answers. */
async function startEtcd(
  ports: { readonly client: number; readonly peer: number },
  assets: string,
  directory: string,
): Promise<{ readonly url: string; readonly process: ManagedProcess }> {
  const url = `http://127.0.0.1:${ports.client}`;
  const name = basename(directory);
  const data = join(directory, 'etcd');
  // A start that found its port taken may have left a member with other addresses.
  rmSync(data, { recursive: true, force: true });
  const started = await startProcess({
    command: join(assets, 'etcd'),
    args: [
      `--name=${name}`,
      `--data-dir=${data}`,
      `--listen-client-urls=${url}`,
      `--advertise-client-urls=${url}`,
      `--listen-peer-urls=http://127.0.0.1:${ports.peer}`,
      '--unsafe-no-fsync=true',
      '--log-level=error',
    ],
    logFile: join(directory, 'etcd.log'),
    isReady: () => hasMember(url, name),
  });
  return { url, process: started };
}

async function hasMember(url: string, name: string): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(1000);
    const response = await fetch(`${url}/v3/cluster/member/list`, { method: 'POST', body: '{}', signal });
    return (await response.text()).includes(`"name":"${name}"`);
  } catch {
    return false;
  }
}
