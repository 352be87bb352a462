import type { Quotas } from '../../core/config/platform.js';
import { DomainError, isDomainError } from '../../core/errors.js';
import type { Paymaster } from '../../core/resources/paymaster.js';
import type { ListOptions } from '../../core/resources/resource-store.js';
import { given } from '../../core/units/given.js';
import type { Principal } from './auth.js';
import type { Tools } from './deps.js';

const mayHave = {
  paymasters: { owner: 'organisation', of: 'paymasters' },
  policiesPerPaymaster: { owner: 'paymaster', of: 'policies' },
  contractsPerPaymaster: { owner: 'paymaster', of: 'contracts' },
} as const satisfies Partial<Record<keyof Quotas, object>>;

/** Throws QUOTA_EXCEEDED when the `count` objects that are there already use up the quota. */
export function requireQuota(
  { quotaOf }: Pick<Tools, 'quotaOf'>,
  { organisation }: Pick<Principal, 'organisation'>,
  name: keyof typeof mayHave,
  count: number,
): void {
  const quota = quotaOf(organisation, name);
  if (quota === undefined || count < quota.count) return;
  const { owner, of } = mayHave[name];
  const message = `The ${owner} may have ${quota.count} ${of} and has them all (${quota.where})`;
  throw new DomainError('QUOTA_EXCEEDED', message);
}

/** What `write` answers. An object that is deleted between look-up and write is the error `missing`. */
export async function unlessDeleted<T>(missing: () => DomainError, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    throw isDomainError(error, 'NOT_FOUND') ? missing() : error;
  }
}

/** Selects what refers to a paymaster. */
export function ofPaymaster({ metadata }: Paymaster): ListOptions {
  return { ...given({ namespace: metadata.namespace }), fields: { 'spec.paymasterRef.name': metadata.name } };
}
