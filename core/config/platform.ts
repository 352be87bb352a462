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

/** Each quota of the Organisation, else the platform's; absent: none. */
export function quotasOf(organisation: Organisation | undefined, platform: PlatformDefaults): Quotas {
  return { ...platform.quotas, ...organisation?.spec.quotas };
}
