import { finding, type Finding } from '../meta/conditions.js';
import type { Organisation } from '../resources/organisation.js';
import type { ContractAction } from '../resources/schema-parts.js';

export type Quotas = NonNullable<Organisation['spec']['quotas']>;

/** The platform's defaults for Organisations that do not set their own. */
export type PlatformDefaults = {
  readonly quotas: Quotas;
  /** What happens to calls while a Paymaster has no SmartContract. */
  readonly defaultContractAction: ContractAction;
};

/** The defaults of a platform that sets nothing: no quotas, and Allow. */
export const openPlatform: PlatformDefaults = { quotas: {}, defaultContractAction: 'Allow' };

/** A quota in force and the place where it is set, so that a tenant who has used it up can find it. */
export type Quota = { readonly count: number; readonly where: string };

/** Undefined: no quota. */
export function findQuota(
  organisation: Organisation | undefined,
  platform: Pick<PlatformDefaults, 'quotas'>,
  name: keyof Quotas,
): Quota | undefined {
  const own = organisation?.spec.quotas?.[name];
  if (organisation !== undefined && own !== undefined)
    return { count: own, where: `spec.quotas.${name} of Organisation ${organisation.metadata.name}` };
  const count = platform.quotas[name];
  return count === undefined ? undefined : { count, where: `the platform's default for quotas.${name}` };
}

/** For what comes after the quota is used up; `what` is a plural, e.g. paymasters. */
export function quotaExceeded({ count, where }: Quota, what: string): Finding {
  const message = `Only ${count} ${what} are allowed by ${where}: delete one, or ask the platform for more.`;
  return finding('Accepted', 'QuotaExceeded', message);
}

/** Each quota of the Organisation, else the platform's; absent: no quota. */
export function mergeQuotas(organisation: Organisation | undefined, platform: PlatformDefaults): Quotas {
  return { ...platform.quotas, ...organisation?.spec.quotas };
}
