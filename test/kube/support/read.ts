import type { Cluster } from '../../support/cluster/cluster.js';
import { systemNamespace } from '../../support/cluster/component.js';
import { KubeApiError } from '../../../adapters/kube/api-error.js';
import { group, version } from '../../../core/meta/meta.js';
import { kindNames, type Kind } from '../../../core/resources/kinds.js';

type Conditions = {
  readonly status?: {
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason: string;
    }[];
  };
};

/**
 * Questions that tests ask the API server again and again, as administrator: kubectl would start a process for each. An object that is not
 * there, or a server that does not answer, gives undefined.
 */
export type Reader = {
  /** `status/reason` of a condition, e.g. `True/Ready`. */
  condition(kind: Kind, name: string, type: string): Promise<string | undefined>;
  /** Data of a ConfigMap of the system's namespace. */
  configMap(name: string): Promise<Readonly<Record<string, string>> | undefined>;
  /** `holderIdentity` of the operator's lease. */
  leaseHolder(): Promise<string | undefined>;
  /** Reasons of all events. */
  eventReasons(): Promise<readonly string[]>;
};

export function readerOf({ transport }: Pick<Cluster, 'transport'>): Reader {
  const read = async <T>(path: string): Promise<T | undefined> => {
    try {
      return (await transport.request({ method: 'GET', path })) as T;
    } catch (error) {
      if (error instanceof KubeApiError) return undefined;
      throw error;
    }
  };
  return {
    async condition(kind, name, type) {
      const { plural, scope } = kindNames[kind];
      const place = scope === 'Cluster' ? '' : 'namespaces/quickstart/';
      const found = await read<Conditions>(`/apis/${group}/${version}/${place}${plural}/${name}`);
      const condition = found?.status?.conditions?.find((each) => each.type === type);
      return condition && `${condition.status}/${condition.reason}`;
    },
    async configMap(name) {
      const path = `/api/v1/namespaces/${systemNamespace}/configmaps/${name}`;
      return (await read<{ readonly data?: Readonly<Record<string, string>> }>(path))?.data;
    },
    async leaseHolder() {
      const path = `/apis/coordination.k8s.io/v1/namespaces/${systemNamespace}/leases/paymaster-operator`;
      return (await read<{ readonly spec: { readonly holderIdentity?: string } }>(path))?.spec.holderIdentity;
    },
    async eventReasons() {
      const list = await read<{ readonly items: readonly { readonly reason: string }[] }>(
        '/apis/events.k8s.io/v1/events',
      );
      return list?.items.map(({ reason }) => reason) ?? [];
    },
  };
}
