import type { ControlPlane } from '../../support/cluster/control-plane.js';
import { auditEvents } from './audit.js';

/** One verb on one resource, as a role grants it or as the audit log shows it. */
export type Right = {
  readonly verb: string;
  /** `group/resource` or `group/resource/subresource`; the core group is empty. */
  readonly resource: string;
  /** Name of the object; in a grant, empty for every name. */
  readonly name: string;
  /** Namespace; in a grant, empty for the whole cluster. */
  readonly namespace: string;
};

/** A request of a component as the API server's audit log shows it. */
export type AuditedRequest = Right & { readonly code: number; readonly receivedAt: number };

type Named = { readonly metadata: { readonly name: string; readonly namespace?: string } };
type Role = Named & {
  readonly kind: string;
  readonly rules?: readonly {
    readonly apiGroups?: readonly string[];
    readonly resources?: readonly string[];
    readonly resourceNames?: readonly string[];
    readonly verbs: readonly string[];
  }[];
};
type Binding = Named & {
  readonly roleRef: { readonly kind: string; readonly name: string };
  readonly subjects?: readonly {
    readonly kind: string;
    readonly name: string;
    readonly namespace?: string;
  }[];
};

/** Every right that roles of the cluster grant to one ServiceAccount by its name. */
export function grantsOf(plane: ControlPlane, namespace: string, account: string): readonly Right[] {
  const all = <T>(kind: string): readonly T[] =>
    (JSON.parse(plane.kubectl(['get', kind, '--all-namespaces', '-o', 'json'])) as { items: T[] }).items;
  const roles = [...all<Role>('clusterroles'), ...all<Role>('roles')];
  const bindings = [...all<Binding>('clusterrolebindings'), ...all<Binding>('rolebindings')];
  return bindings
    .filter(({ subjects = [] }) =>
      subjects.some(
        (subject) =>
          subject.kind === 'ServiceAccount' && subject.name === account && subject.namespace === namespace,
      ),
    )
    .flatMap(({ roleRef, metadata }) => {
      const role = roles.find(
        ({ kind, metadata: { name, namespace: home } }) =>
          kind === roleRef.kind &&
          name === roleRef.name &&
          (kind === 'ClusterRole' || home === metadata.namespace),
      );
      if (role === undefined) throw new Error(`${metadata.name} binds ${roleRef.name}, which does not exist`);
      return rightsIn(role, metadata.namespace ?? '');
    });
}

function rightsIn({ rules = [] }: Role, namespace: string): readonly Right[] {
  return rules.flatMap(({ apiGroups = [], resources = [], resourceNames = [''], verbs }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) =>
        verbs.flatMap((verb) =>
          resourceNames.map((name) => ({ verb, resource: `${group}/${resource}`, name, namespace })),
        ),
      ),
    ),
  );
}

/** Requests of one ServiceAccount to the API server since the server was started. */
export function requestsOf(
  plane: ControlPlane,
  namespace: string,
  account: string,
): readonly AuditedRequest[] {
  const username = `system:serviceaccount:${namespace}:${account}`;
  return auditEvents(plane, username)
    .filter(({ user }) => user.username === username)
    .map(({ verb, requestURI, requestReceivedTimestamp, objectRef, responseStatus }) => ({
      verb,
      resource:
        objectRef === undefined
          ? requestURI
          : [objectRef.apiGroup ?? '', objectRef.resource, objectRef.subresource]
              .filter((part) => part !== undefined)
              .join('/'),
      name: objectRef?.name ?? '',
      namespace: objectRef?.namespace ?? '',
      code: responseStatus?.code ?? 0,
      receivedAt: Date.parse(requestReceivedTimestamp),
    }));
}

const roleBindings = 'rbac.authorization.k8s.io/rolebindings';

/**
 * The rights that a request needed. Two rights are checked without a separate request: an apply that creates its object also
 * needs `create`, and creating a RoleBinding needs `bind` on the role, here one of `boundRoles`, of a caller that does not
 * have that role's rights.
 */
export function rightsNeeded(
  { code, receivedAt: _at, ...right }: AuditedRequest,
  boundRoles: readonly string[],
): readonly Right[] {
  const isApplied = right.verb === 'patch' && code === 201;
  const isBinding = right.verb === 'create' && right.resource === roleBindings && code === 201;
  return [
    right,
    ...(isApplied ? [{ ...right, verb: 'create' }] : []),
    ...(isBinding
      ? boundRoles.map((name) => ({
          verb: 'bind',
          resource: 'rbac.authorization.k8s.io/clusterroles',
          name,
          namespace: '',
        }))
      : []),
  ];
}

/** Whether a grant permits a right; for a collection, only if the request was as wide as the grant. */
export function permits(grant: Right, used: Right): boolean {
  const isCollection = used.verb === 'list' || used.verb === 'watch';
  return (
    grant.verb === used.verb &&
    grant.resource === used.resource &&
    (grant.name === '' || grant.name === used.name) &&
    (grant.namespace === used.namespace || (grant.namespace === '' && !isCollection))
  );
}

export const describeRight = ({ verb, resource, name, namespace }: Right): string =>
  [verb, resource, name, namespace === '' ? 'of the cluster' : `in ${namespace}`].filter(Boolean).join(' ');
