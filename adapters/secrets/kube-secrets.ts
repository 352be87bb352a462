import { DomainError } from '../../core/errors.js';
import { apiVersion } from '../../core/meta/meta.js';
import type { ConnectionSecrets } from '../../core/secrets.js';
import { isStatus } from '../kube/api-error.js';
import type { KubeTransport } from '../kube/transport.js';
import { toDomainError } from '../kube/errors.js';

/**
 * Connection secrets as Secrets of type Opaque that the Paymaster controls, so that they are deleted with it. The operator may
 * not read Secrets, so each write replaces the whole Secret. The API server writes nothing where nothing changes, and an
 * admission policy of the chart refuses every Secret that was not made for this Paymaster. Throws UNAVAILABLE in an outage.
 */
export function createKubeConnectionSecrets(deps: {
  readonly transport: Pick<KubeTransport, 'request'>;
}): ConnectionSecrets {
  const { transport } = deps;

  async function write({
    namespace,
    name,
    owner,
    data,
  }: Parameters<ConnectionSecrets['write']>[0]): ReturnType<ConnectionSecrets['write']> {
    const collection = `/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets`;
    const query = { fieldManager: 'paymaster-operator' };
    const body = {
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'Opaque',
      metadata: {
        name,
        namespace,
        labels: { 'app.kubernetes.io/managed-by': 'paymaster-operator' },
        ownerReferences: [
          { apiVersion, kind: 'Paymaster', name: owner.name, uid: owner.uid, controller: true },
        ],
      },
      data: Object.fromEntries(
        Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
      ),
    };
    try {
      await transport.request({
        method: 'PUT',
        path: `${collection}/${encodeURIComponent(name)}`,
        query,
        body,
      });
    } catch (error) {
      if (isStatus(error, 422)) return 'not-ours';
      if (!isStatus(error, 404)) throw error;
      await transport.request({ method: 'POST', path: collection, query, body });
    }
    return 'written';
  }

  return {
    async write(request) {
      const what = `Secret ${request.namespace}/${request.name}`;
      try {
        return await write(request);
      } catch (error) {
        const mapped = toDomainError(error, what);
        if (isStatus(error, 403) && mapped.code === 'UNAVAILABLE') return 'denied';
        // Somebody else created it between the two requests.
        if (mapped.code !== 'ALREADY_EXISTS') throw mapped;
        throw new DomainError('WRITE_CONFLICT', `${what} was created meanwhile`, { cause: error });
      }
    },
  };
}
