import { execFileSync } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '../../core/log.js';
import { noMetrics } from '../../core/metrics.js';
import { createKubeTransport, type KubeTransport } from '../../adapters/kube/transport.js';
import { findRoot } from '../root.js';
import { freePort } from './free-port.js';
import { answers, startProcess, type ManagedProcess } from './managed-process.js';

/** User name of a component at the API server. */
export const serviceAccountUser = (namespace: string, name: string): string =>
  `system:serviceaccount:${namespace}:${name}`;

/** A real kube-apiserver on a real etcd, on free loopback ports, with one bearer token per user. */
export type ControlPlane = {
  readonly url: string;
  /** URL of etcd's client API, without TLS. */
  readonly etcdUrl: string;
  readonly assets: string;
  readonly directory: string;
  readonly apiServer: ManagedProcess;
  readonly etcd: ManagedProcess;
  /** PEM of the server's own certificate. */
  ca(): string;
  /** Bearer token of `admin` (system:masters) or of a user given to `startControlPlane`. */
  token(user: string): string;
  kubeconfig(user: string): string;
  transport(user?: string): KubeTransport;
  kubectl(args: readonly string[], options?: { readonly input?: string; readonly user?: string }): string;
  auditLog(): string;
  stop(): Promise<void>;
};

export type ControlPlaneOptions = {
  /** More users (name → groups), e.g. a service account that a role is bound to. */
  readonly users?: Readonly<Record<string, readonly string[]>>;
  readonly apiServerFlags?: readonly string[];
};

/** Folder with the binaries. They are built once into the user's cache, which takes minutes. Throws an error that says what to install. */
function findAssets(): string {
  return execFileSync('sh', [join(findRoot(import.meta.url), 'hack/envtest/build.sh')], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  }).trim();
}

export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const assets = findAssets();
  const directory = mkdtempSync(join(tmpdir(), 'paymaster-envtest-'));
  const [clientPort, peerPort, securePort] = [await freePort(), await freePort(), await freePort()];
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

  const etcd = await startProcess({
    command: join(assets, 'etcd'),
    args: [
      `--data-dir=${join(directory, 'etcd')}`,
      `--listen-client-urls=http://127.0.0.1:${clientPort}`,
      `--advertise-client-urls=http://127.0.0.1:${clientPort}`,
      `--listen-peer-urls=http://127.0.0.1:${peerPort}`,
      '--unsafe-no-fsync=true',
      '--log-level=error',
    ],
    logFile: join(directory, 'etcd.log'),
    isReady: () => answers(`http://127.0.0.1:${clientPort}/health`),
  });
  const url = `https://127.0.0.1:${securePort}`;
  const ca = (): string => readFileSync(join(directory, 'certs/apiserver.crt'), 'utf8');
  const transport = (user = 'admin'): KubeTransport =>
    createKubeTransport({
      credentials: {
        load: async () => ({ server: url, ca: ca(), authorization: `Bearer ${tokens.get(user)}` }),
      },
      userAgent: `envtest/${user}`,
      log: silentLogger,
      metrics: noMetrics,
    });
  const ready = async (): Promise<boolean> => {
    if (!existsSync(join(directory, 'certs/apiserver.crt'))) return false;
    const probe = transport();
    try {
      await probe.stream({ method: 'GET', path: '/readyz' });
      return true;
    } catch {
      return false;
    } finally {
      await probe.stop();
    }
  };
  const apiServer = await startProcess({
    command: join(assets, 'kube-apiserver'),
    args: [
      `--etcd-servers=http://127.0.0.1:${clientPort}`,
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
    isReady: ready,
  });

  const kubeconfig = (user: string): string => {
    const file = join(directory, `kubeconfig-${user}`);
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [
        {
          name: 'envtest',
          cluster: { server: url, 'certificate-authority': join(directory, 'certs/apiserver.crt') },
        },
      ],
      users: [{ name: user, user: { token: tokens.get(user) } }],
      contexts: [{ name: 'envtest', context: { cluster: 'envtest', user } }],
      'current-context': 'envtest',
    };
    writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
    return file;
  };
  return {
    url,
    etcdUrl: `http://127.0.0.1:${clientPort}`,
    assets,
    directory,
    apiServer,
    etcd,
    ca,
    token: (user) => tokens.get(user) ?? '',
    kubeconfig,
    transport,
    kubectl: (args, { input, user = 'admin' } = {}) =>
      execFileSync(join(assets, 'kubectl'), [`--kubeconfig=${kubeconfig(user)}`, ...args], {
        encoding: 'utf8',
        stdio: 'pipe',
        timeout: 240_000,
        ...(input === undefined ? {} : { input }),
      }),
    auditLog: () => readFileSync(join(directory, 'audit.log'), 'utf8'),
    async stop() {
      for (const each of [apiServer, etcd]) {
        each.signal('SIGCONT');
        each.signal('SIGKILL');
        await each.ended();
      }
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
