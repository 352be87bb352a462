import { toDomainError } from './errors.js';
import { isStatus } from './api-error.js';
import type { KubeTransport } from './transport.js';

export type ConfigMap = {
  readonly metadata: { readonly resourceVersion: string; readonly uid: string };
  readonly data?: Readonly<Record<string, string>>;
};

/** One ConfigMap of a namespace, accessed by name so that RBAC can grant it alone. */
export type NamedConfigMap = {
  /** Undefined when the ConfigMap does not exist. Throws UNAVAILABLE. */
  read(): Promise<ConfigMap | undefined>;
  /**
   * Replaces all entries of the ConfigMap that was read; false when somebody else has written meanwhile. Throws
   * UNAVAILABLE.
   */
  write(present: ConfigMap | undefined, data: Readonly<Record<string, string>>): Promise<boolean>;
};

export function createNamedConfigMap(deps: {
  readonly transport: Pick<KubeTransport, 'request'>;
  readonly namespace: string;
  readonly name: string;
}): NamedConfigMap {
  const { transport, namespace, name } = deps;
  const collection = `/api/v1/namespaces/${encodeURIComponent(namespace)}/configmaps`;
  const path = `${collection}/${name}`;
  return {
    async read() {
      try {
        return (await transport.request({ method: 'GET', path })) as ConfigMap;
      } catch (error) {
        if (isStatus(error, 404)) return undefined;
        throw toDomainError(error, `ConfigMap ${name}`);
      }
    },
    async write(present, data) {
      const version = present === undefined ? {} : { resourceVersion: present.metadata.resourceVersion };
      const body = {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name, namespace, ...version },
        data,
      };
      try {
        await transport.request(
          present === undefined ? { method: 'POST', path: collection, body } : { method: 'PUT', path, body },
        );
        return true;
      } catch (error) {
        if (isStatus(error, 404, 409)) return false;
        throw toDomainError(error, `ConfigMap ${name}`);
      }
    },
  };
}
