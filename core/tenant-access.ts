/**
 * Port: what the dashboard, and the operator with Secrets, may do in the namespace of an organisation. Granted by the operator one
 * namespace at a time, so that they have these rights nowhere else.
 */
export type TenantAccess = {
  /** `no-namespace` when it does not exist yet; `not-ours` when somebody else made an object of that name. */
  grant(namespace: string): Promise<'granted' | 'unchanged' | 'no-namespace' | 'not-ours'>;
  /** Takes back what `grant` gave; nothing else is touched. */
  revoke(namespace: string): Promise<void>;
  /** Namespaces in which something that `grant` gave still stands. */
  granted(): Promise<readonly string[]>;
};
