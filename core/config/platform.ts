import type { Organisation } from '../resources/organisation.js';
import type { ContractAction } from '../resources/paymaster.js';

export type Quotas = NonNullable<Organisation['spec']['quotas']>;

/** What the platform sets for Organisations that say nothing of their own. */
export type PlatformDefaults = {
  readonly quotas: Quotas;
  /** What happens while a Paymaster has no SmartContract. */
  readonly defaultContractAction: ContractAction;
};

/** No quotas, and Allow: what a platform has that sets nothing. */
export const openPlatform: PlatformDefaults = { quotas: {}, defaultContractAction: 'Allow' };

/** A quota in force, and where it is set: for whoever has used it up. */
export type Quota = { readonly count: number; readonly where: string };

/** Undefined: none. */
export function quotaOf(
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

/** Each quota of the Organisation, else the platform's; absent: none. */
export function quotasOf(organisation: Organisation | undefined, platform: PlatformDefaults): Quotas {
  return { ...platform.quotas, ...organisation?.spec.quotas };
}
