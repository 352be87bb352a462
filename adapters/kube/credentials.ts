import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../core/units/time.js';
import type { CredentialSource, KubeCredentials } from './transport.js';
import { optional, text, type Settings } from '../../core/settings.js';

/** Where a component finds its API server. */
type KubeAccess =
  | { readonly from: 'service-account'; readonly files: ServiceAccountFiles }
  | { readonly from: 'kubeconfig'; readonly file: string; readonly context?: string };

const rereadMs = 60_000;

/**
 * Credentials of this process. Files are read again every 60 seconds, and at once when the server answers 401, so that
 * rotated tokens and certificates take effect without a restart. Callers at the same time share one read.
 *
 * A pod needs three mounted files and no library. Only a kubeconfig (exec plugins, OIDC) loads
 * `@kubernetes/client-node`, which costs about 90 MB of memory.
 */
export function createCredentialSource(access: KubeAccess, clock: Clock): CredentialSource {
  return rereading(createLoader(access), clock);
}

function createLoader(access: KubeAccess): () => Promise<KubeCredentials> {
  switch (access.from) {
    case 'service-account':
      return () => readServiceAccount(access.files);
    case 'kubeconfig':
      return async () => {
        const { readKubeconfig } = await import('./kubeconfig.js');
        return readKubeconfig(access.file, access.context);
      };
  }
}

function rereading(read: () => Promise<KubeCredentials>, clock: Clock): CredentialSource {
  let known: { readonly at: number; readonly credentials: KubeCredentials } | undefined;
  let reading: Promise<KubeCredentials> | undefined;

  async function readOnce(): Promise<KubeCredentials> {
    try {
      const credentials = await read();
      known = { at: clock.now(), credentials };
      return credentials;
    } catch (error) {
      // A mount that is being swapped must not cut off a process whose last token is still valid.
      if (known === undefined) throw error;
      return known.credentials;
    } finally {
      reading = undefined;
    }
  }

  return {
    load(fresh) {
      if (!fresh && known !== undefined && Math.abs(clock.now() - known.at) < rereadMs)
        return Promise.resolve(known.credentials);
      return (reading ??= readOnce());
    },
  };
}

/** How a pod finds its API server: the mounted service account and the address of the `kubernetes` Service. */
type ServiceAccountFiles = {
  /** Holds `token`, `ca.crt` and `namespace`. */
  readonly directory: string;
  readonly host: string;
  readonly port: string;
};

const serviceAccountDirectory = '/var/run/secrets/kubernetes.io/serviceaccount';

/** Reads the mounted token and certificate authority; throws when a file is missing or empty, naming it. */
async function readServiceAccount(files: ServiceAccountFiles): Promise<KubeCredentials> {
  const [token, ca] = await Promise.all([
    readText(join(files.directory, 'token')),
    readText(join(files.directory, 'ca.crt')),
  ]);
  const host = files.host.includes(':') ? `[${files.host}]` : files.host;
  return { server: `https://${host}:${files.port}`, ca, authorization: `Bearer ${token}` };
}

async function readText(path: string): Promise<string> {
  const text = (await readFile(path, 'utf8')).trim();
  if (text === '') throw new Error(`${path} is empty: is the service account mounted?`);
  return text;
}

/** Without `KUBECONFIG`, the service account of the pod. */
export const kubeSettings = {
  file: optional('KUBECONFIG', 'The file that names the cluster, outside of a pod.'),
  host: optional('KUBERNETES_SERVICE_HOST', 'The host of the API server, in a pod.'),
  port: text('KUBERNETES_SERVICE_PORT', 'The port of the API server, in a pod.', '443'),
  directory: text(
    'PAYMASTER_SERVICE_ACCOUNT_DIR',
    'The directory of token and certificate, in a pod.',
    serviceAccountDirectory,
  ),
};

export function readKubeAccess(settings: Settings): KubeAccess {
  const { file, host = '', port, directory } = settings.read(kubeSettings);
  if (file !== undefined) return { from: 'kubeconfig', file };
  if (host === '') settings.mistake('KUBECONFIG', 'set outside of a pod: the file that names the cluster');
  return { from: 'service-account', files: { directory, host, port } };
}
