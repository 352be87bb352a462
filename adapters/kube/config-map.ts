import { isDeepStrictEqual } from 'node:util';
import { DomainError } from '../../core/errors.js';
import { given } from '../../core/units/given.js';
import { isStatus } from './api-error.js';
import { mapErrors, toDomainError } from './errors.js';
import { readObject } from './reads.js';
import type { KubeTransport } from './transport.js';

export type ConfigMap = {
  readonly metadata: { readonly resourceVersion: string; readonly uid: string };
  readonly data?: Entries;
};

/** Where the ConfigMaps of this installation are. */
export type ConfigMapPlace = {
  readonly transport: Pick<KubeTransport, 'request'>;
  readonly namespace: string;
};

/** Reads the ConfigMap of this name as it was a moment ago. */
export type ReadConfigMap = (name: string) => Promise<ConfigMap | undefined>;

/** One ConfigMap of a namespace, accessed by name so that RBAC can grant it alone. */
type NamedConfigMap = {
  /** Undefined when the ConfigMap does not exist. Throws UNAVAILABLE. */
  read(): Promise<ConfigMap | undefined>;
  /**
   * Replaces all entries of the ConfigMap that was read; false when somebody else has written meanwhile. Throws
   * UNAVAILABLE.
   */
  write(present: ConfigMap | undefined, data: Entries): Promise<boolean>;
  /**
   * Replaces all entries by what `change` makes of the present ones, again when somebody else has written meanwhile, and
   * writes nothing where nothing changes. Throws UNAVAILABLE, with reason CONFLICT when others write all the time.
   */
  update(change: (data: Entries) => Entries): Promise<void>;
};

type Entries = Readonly<Record<string, string>>;

const maxAttempts = 5;

export function createNamedConfigMap(deps: ConfigMapPlace & { readonly name: string }): NamedConfigMap {
  const { transport, namespace, name } = deps;
  const collection = `/api/v1/namespaces/${encodeURIComponent(namespace)}/configmaps`;
  const path = `${collection}/${name}`;
  const map: NamedConfigMap = {
    read: () => mapErrors(`ConfigMap ${name}`, () => readObject<ConfigMap>(transport, path)),
    async write(present, data) {
      const version = given({ resourceVersion: present?.metadata.resourceVersion });
      const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace, ...version }, data };
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
    async update(change) {
      for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
        const present = await map.read();
        const data = change(present?.data ?? {});
        if (present !== undefined && isDeepStrictEqual(data, present.data ?? {})) return;
        if (await map.write(present, data)) return;
      }
      throw new DomainError('UNAVAILABLE', `ConfigMap ${name} is being written by others`, {
        reason: 'CONFLICT',
      });
    },
  };
  return map;
}
