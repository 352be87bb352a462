import { KubeApiError } from '../../adapters/kube/api-error.js';
import { mapErrors } from '../../adapters/kube/errors.js';
import type { KubeTransport } from '../../adapters/kube/transport.js';
import { errorMessage } from '../../core/errors.js';
import { isObject } from '../../core/schema/json-value.js';
import { withCluster, type Cluster } from './cluster.js';

/** A pod of the installation. `checks`: its answer to `/readyz`. */
type Pod = {
  readonly name: string;
  /** Why Kubernetes sends it nothing; undefined while it is ready. */
  readonly unready: string | undefined;
} & ({ readonly checks: readonly unknown[] } | { readonly silence: string });

const selector =
  'app.kubernetes.io/part-of=paymaster-operator,app.kubernetes.io/component in (operator,dashboard,rpc)';
/** Of the chart; a pod may say otherwise. */
const opsPort = 8081;
const patienceMs = 5_000;

/**
 * The pods in a namespace with the answer of each, asked through the API server as `kubectl get --raw` does. Throws UNAVAILABLE
 * where they cannot be listed. A pod that cannot be asked is in the answer: a network policy may keep the API server out, or the caller
 * may not `get` `pods/proxy`.
 */
export function askPods(cluster: Cluster, namespace: string): Promise<readonly Pod[]> {
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`;
  return withCluster(cluster, async (transport) => {
    const list = await mapErrors(`the pods of ${namespace}`, () =>
      transport.request({ method: 'GET', path, query: { labelSelector: selector } }),
    );
    const items = isObject(list) && Array.isArray(list['items']) ? list['items'] : [];
    return Promise.all(items.map((item) => askPod(transport, path, readPart(item, 'metadata'), item)));
  });
}

async function askPod(
  transport: KubeTransport,
  path: string,
  { name }: Readonly<Record<string, unknown>>,
  pod: unknown,
): Promise<Pod> {
  const facts = { name: String(name), unready: whyUnready(pod) };
  try {
    const proxied = `${path}/${encodeURIComponent(`${facts.name}:${findOpsPort(pod)}`)}/proxy/readyz`;
    const answer = await transport.request({ method: 'GET', path: proxied, timeoutMs: patienceMs });
    return { ...facts, ...readChecks(answer, 'its answer has no checks') };
  } catch (error) {
    // A pod that is not ready answers 503, with its checks.
    return { ...facts, ...readChecks(error instanceof KubeApiError && error.body, errorMessage(error)) };
  }
}

function readChecks(body: unknown, otherwise: string) {
  return isObject(body) && Array.isArray(body['checks'])
    ? { checks: body['checks'] as readonly unknown[] }
    : { silence: otherwise };
}

function whyUnready(pod: unknown): string | undefined {
  const { conditions, phase } = readPart(pod, 'status');
  const all = Array.isArray(conditions) ? conditions.filter(isObject) : [];
  if (all.some(({ type, status }) => type === 'Ready' && status === 'True')) return undefined;
  const messages = all.flatMap(({ status, message }) =>
    status === 'False' && typeof message === 'string' ? [message] : [],
  );
  return messages[0] ?? (typeof phase === 'string' ? phase : 'it has no status yet');
}

function findOpsPort(pod: unknown): number {
  const { containers } = readPart(pod, 'spec');
  const ports = (Array.isArray(containers) ? containers : []).flatMap((container) =>
    isObject(container) && Array.isArray(container['ports']) ? container['ports'].filter(isObject) : [],
  );
  const port = ports.find(({ name }) => name === 'ops')?.['containerPort'];
  return typeof port === 'number' ? port : opsPort;
}

function readPart(object: unknown, name: string): Readonly<Record<string, unknown>> {
  const part = isObject(object) ? object[name] : undefined;
  return isObject(part) ? part : {};
}
