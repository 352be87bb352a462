import { optional, text, type Settings } from '../../core/settings.js';
import type { KubeAccess } from './credentials.js';
import { serviceAccountDirectory } from './service-account.js';

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
