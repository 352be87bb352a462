import { isDeepStrictEqual } from 'node:util';
import type { TenantAccess } from '../../core/tenant-access.js';
import { given } from '../../core/units/given.js';
import { isStatus } from './api-error.js';
import { ours, type OwnObjects } from './foreign-changes.js';
import { mapErrors } from './errors.js';
import { deleteObject, readList, readObject } from './reads.js';
import type { KubeRequest, KubeTransport } from './transport.js';

/** One RoleBinding in each organisation's namespace: the ClusterRole and the account that gets it. */
export type TenantBinding = {
  readonly name: BindingName;
  readonly clusterRole: string;
  readonly serviceAccount: { readonly namespace: string; readonly name: string };
};

/** Access of the dashboard, and access of the operator itself to Secrets for `writeConnectionSecretToRef`. */
type BindingName = 'paymaster-dashboard' | 'paymaster-connection-secrets';

type KubeTenantAccessDeps = {
  readonly transport: Pick<KubeTransport, 'request'>;
  readonly bindings: readonly TenantBinding[];
};

type RoleBinding = {
  readonly metadata: {
    readonly namespace: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly roleRef: Readonly<Record<string, string>>;
  readonly subjects?: readonly Readonly<Record<string, string>>[];
};

const managedBy = 'app.kubernetes.io/managed-by';
const operator = 'paymaster-operator';
const query = { fieldManager: ours };

/** By name, because the operator may read only these and not everybody's bindings. */
const bindingSelectors = (name: BindingName) => ({
  fieldSelector: `metadata.name=${name}`,
  labelSelector: `${managedBy}=${operator}`,
});

/** The RoleBindings of all organisations, to watch. */
export function tenantBindings(bindings: readonly TenantBinding[]): readonly OwnObjects[] {
  return bindings.map(({ name }) => ({ kind: 'RoleBinding', path: allBindings, ...bindingSelectors(name) }));
}

/** RoleBindings in each organisation's namespace. Throws the errors of the store ports. */
export function createKubeTenantAccess({ transport, bindings }: KubeTenantAccessDeps): TenantAccess {
  const each = bindings.map((binding) => createBindings(transport, binding));
  return {
    async grant(namespace) {
      const outcomes = new Set<Granted>();
      for (const one of each) outcomes.add(await one.grant(namespace));
      return worstFirst.find((outcome) => outcomes.has(outcome)) ?? 'unchanged';
    },
    async revoke(namespace) {
      for (const one of each) await one.revoke(namespace);
    },
    async granted() {
      const found = new Set<string>();
      for (const one of each) for (const namespace of await one.granted()) found.add(namespace);
      return [...found];
    },
  };
}

type Granted = Awaited<ReturnType<TenantAccess['grant']>>;
const worstFirst = [
  'no-namespace',
  'no-label',
  'not-ours',
  'granted',
  'unchanged',
] as const satisfies readonly Granted[];

function createBindings(
  transport: KubeTenantAccessDeps['transport'],
  { name: bindingName, clusterRole, serviceAccount }: TenantBinding,
): TenantAccess {
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: clusterRole };
  const subjects = [{ kind: 'ServiceAccount', ...serviceAccount }];
  const bindingPath = (namespace: string): string => `${bindingsPath(namespace)}/${bindingName}`;
  const bindingIn = (namespace: string): string => `RoleBinding ${namespace}/${bindingName}`;

  function read(namespace: string): Promise<RoleBinding | undefined> {
    return readObject(transport, bindingPath(namespace));
  }

  function bodyFor(namespace: string, resourceVersion?: string) {
    const metadata = {
      name: bindingName,
      namespace,
      labels: { [managedBy]: operator },
      ...given({ resourceVersion }),
    };
    return { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'RoleBinding', metadata, roleRef, subjects };
  }

  async function create(namespace: string): Promise<Granted> {
    try {
      return await send({ method: 'POST', path: bindingsPath(namespace), query, body: bodyFor(namespace) });
    } catch (error) {
      if (isStatus(error, 404) || isTerminating(error)) return 'no-namespace';
      throw error;
    }
  }

  async function send(call: KubeRequest): Promise<Granted> {
    try {
      await transport.request(call);
      return 'granted';
    } catch (error) {
      // So an admission policy of the chart refuses bindings in namespaces without the label.
      if (isStatus(error, 422)) return 'no-label';
      throw error;
    }
  }

  async function remove(namespace: string, { metadata }: RoleBinding): Promise<void> {
    try {
      await deleteObject(transport, bindingPath(namespace), { uid: metadata.uid });
    } catch (error) {
      if (!isStatus(error, 404)) throw error;
    }
  }

  async function grant(namespace: string): ReturnType<TenantAccess['grant']> {
    const present = await read(namespace);
    if (present === undefined) return create(namespace);
    if (!isOurs(present)) return 'not-ours';
    if (!isDeepStrictEqual(present.roleRef, roleRef)) {
      // A binding's role cannot be changed: another role needs another binding.
      await remove(namespace, present);
      return create(namespace);
    }
    // Sent also where it changes nothing: the answer says whether the namespace has its label.
    const body = bodyFor(namespace, present.metadata.resourceVersion);
    const outcome = await send({ method: 'PUT', path: bindingPath(namespace), query, body });
    const isSame = isDeepStrictEqual(withoutGroup(present.subjects), subjects);
    return outcome === 'granted' && isSame ? 'unchanged' : outcome;
  }

  async function revoke(namespace: string): Promise<void> {
    const present = await read(namespace);
    if (present !== undefined && isOurs(present)) await remove(namespace, present);
  }

  async function granted(): Promise<readonly string[]> {
    const found = await readList<RoleBinding>(transport, allBindings, bindingSelectors(bindingName));
    // A binding to another role belongs to another installation.
    const ours = found.filter((binding) => isDeepStrictEqual(binding.roleRef, roleRef));
    return ours.map(({ metadata }) => metadata.namespace);
  }

  return {
    grant: (namespace) => mapErrors(bindingIn(namespace), () => grant(namespace)),
    revoke: (namespace) => mapErrors(bindingIn(namespace), () => revoke(namespace)),
    granted: () => mapErrors(`RoleBindings ${bindingName}`, granted),
  };
}

/** The namespace is being deleted, and takes nothing new. */
function isTerminating(error: unknown): boolean {
  return isStatus(error, 403) && error.causes.some(({ reason }) => reason === 'NamespaceTerminating');
}

function isOurs({ metadata }: RoleBinding): boolean {
  return metadata.labels?.[managedBy] === operator;
}

/** The server may fill in an empty API group of subjects. */
function withoutGroup(subjects: RoleBinding['subjects'] = []) {
  return subjects.map(({ apiGroup: _apiGroup, ...subject }) => subject);
}

const allBindings = '/apis/rbac.authorization.k8s.io/v1/rolebindings';

function bindingsPath(namespace: string): string {
  return `/apis/rbac.authorization.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/rolebindings`;
}
