/**
 * On a namespace: the platform lets the operator grant rights there. Without it the API server refuses them, so that somebody
 * who has the operator's token gets nothing in other namespaces.
 */
export const organisationLabel = 'paymasters.dev/organisation=true';

/**
 * Port: what the dashboard, and the operator's access to Secrets, may do in the namespace of an organisation. The
 * operator grants these rights one namespace at a time, so that they exist nowhere else.
 */
export type TenantAccess = {
  /**
   * `no-namespace` when the namespace does not exist yet; `no-label` when it lacks {@link organisationLabel};
   * `not-ours` when someone else made an object with that name.
   */
  grant(namespace: string): Promise<'granted' | 'unchanged' | 'no-namespace' | 'no-label' | 'not-ours'>;
  /** Revokes what `grant` gave; nothing else changes. */
  revoke(namespace: string): Promise<void>;
  /** Namespaces in which something that `grant` gave still exists. */
  granted(): Promise<readonly string[]>;
};
