/**
 * Port: what the dashboard, and the operator's access to Secrets, may do in the namespace of an organisation. The
 * operator grants these rights one namespace at a time, so that they exist nowhere else.
 */
export type TenantAccess = {
  /**
   * `no-namespace` when the namespace does not exist yet; `not-ours` when someone else made an object with that name.
   */
  grant(namespace: string): Promise<'granted' | 'unchanged' | 'no-namespace' | 'not-ours'>;
  /** Revokes what `grant` gave; nothing else changes. */
  revoke(namespace: string): Promise<void>;
  /** Namespaces in which something that `grant` gave still exists. */
  granted(): Promise<readonly string[]>;
};
