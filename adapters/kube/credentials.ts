import type { Clock } from '../../core/units/time.js';
import { readServiceAccount, type ServiceAccountFiles } from './service-account.js';
import type { CredentialSource, KubeCredentials } from './transport.js';

/** Where a component finds its API server. */
export type KubeAccess =
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
  return rereading(loaderOf(access), clock);
}

function loaderOf(access: KubeAccess): () => Promise<KubeCredentials> {
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
