import { isDeepStrictEqual } from 'node:util';
import { DomainError } from '../../core/errors.js';
import { apiVersion } from '../../core/meta/meta.js';
import type { ConnectionSecrets } from '../../core/secrets.js';
import { given } from '../../core/units/given.js';
import { isStatus } from '../kube/api-error.js';
import type { KubeTransport } from '../kube/transport.js';
import { toDomainError } from '../kube/errors.js';
import { readObject } from '../kube/reads.js';

type Secret = {
  readonly metadata: {
    readonly resourceVersion: string;
    readonly ownerReferences?: readonly { readonly uid: string; readonly controller?: boolean }[];
  };
  readonly data?: Readonly<Record<string, string>>;
};

/**
 * Connection secrets as Secrets of type Opaque that the Paymaster controls, so that they are deleted with it. Created
 * by POST and changed by PUT with the version that was read, only while that Paymaster is the controller: a Secret of
 * anybody else is never overwritten. Access that RBAC denies is DomainError INTERNAL, an outage UNAVAILABLE.
 */
export function createKubeConnectionSecrets(deps: {
  readonly transport: Pick<KubeTransport, 'request'>;
}): ConnectionSecrets {
  const { transport } = deps;

  async function write(
    secret: Parameters<ConnectionSecrets['write']>[0],
  ): ReturnType<ConnectionSecrets['write']> {
    const { namespace, name, owner, data } = secret;
    const collection = `/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets`;
    const path = `${collection}/${encodeURIComponent(name)}`;
    const encoded = Object.fromEntries(
      Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
    );
    const body = (resourceVersion?: string) => ({
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'Opaque',
      metadata: {
        name,
        namespace,
        ...given({ resourceVersion }),
        labels: { 'app.kubernetes.io/managed-by': 'paymaster-operator' },
        ownerReferences: [
          { apiVersion, kind: 'Paymaster', name: owner.name, uid: owner.uid, controller: true },
        ],
      },
      data: encoded,
    });
    const query = { fieldManager: 'paymaster-operator' };
    const present = await readObject<Secret>(transport, path);
    if (present === undefined) {
      await transport.request({ method: 'POST', path: collection, query, body: body() });
      return 'written';
    }
    const { ownerReferences = [], resourceVersion } = present.metadata;
    if (!ownerReferences.some(({ uid, controller }) => controller === true && uid === owner.uid))
      return 'not-ours';
    if (isDeepStrictEqual(present.data ?? {}, encoded)) return 'unchanged';
    await transport.request({ method: 'PUT', path, query, body: body(resourceVersion) });
    return 'written';
  }

  return {
    async write(request) {
      const what = `Secret ${request.namespace}/${request.name}`;
      try {
        return await write(request);
      } catch (error) {
        // A retry would not help: somebody has to grant access first.
        if (isStatus(error, 403))
          throw new DomainError('INTERNAL', `${what}: the API server denies the operator access`, {
            cause: error,
          });
        const mapped = toDomainError(error, what);
        // Somebody else created it between the read and the creation: read it again.
        if (mapped.code !== 'ALREADY_EXISTS') throw mapped;
        throw new DomainError('WRITE_CONFLICT', `${what} was created meanwhile`, { cause: error });
      }
    },
  };
}
