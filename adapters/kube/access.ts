import type { Settings } from '../../core/settings.js';
import type { KubeAccess } from './credentials.js';
import { serviceAccountDirectory } from './service-account.js';

/**
 * Reads `KUBECONFIG` (one file; `PAYMASTER_KUBE_CONTEXT` selects another context than the current one). Without it, the
 * service account of the pod.
 */
export function readKubeAccess(settings: Settings): KubeAccess {
  const file = settings.optional('KUBECONFIG');
  if (file !== undefined) {
    const context = settings.optional('PAYMASTER_KUBE_CONTEXT');
    return { from: 'kubeconfig', file, ...(context === undefined ? {} : { context }) };
  }
  const host = settings.optional('KUBERNETES_SERVICE_HOST');
  if (host === undefined)
    settings.mistake('KUBECONFIG', 'set outside of a pod: the file that names the cluster');
  const port = settings.text('KUBERNETES_SERVICE_PORT', 'the port of the API server', '443');
  const directory = settings.text('PAYMASTER_SERVICE_ACCOUNT_DIR', '', serviceAccountDirectory);
  return { from: 'service-account', files: { directory, host: host ?? '', port } };
}
