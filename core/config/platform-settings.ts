import type { Settings } from '../settings.js';
import type { PlatformDefaults, Quotas } from './platform.js';

/** Reads the platform's defaults. A variable that is not set means no quota, or Allow. */
export function readPlatformDefaults(settings: Settings): PlatformDefaults {
  const quota = <K extends keyof Quotas>(key: K, name: string, max: number): Partial<Quotas> =>
    settings.optional(name) === undefined ? {} : { [key]: settings.integer(name, { min: 0, max }, 0) };
  return {
    quotas: {
      ...quota('paymasters', 'PAYMASTER_QUOTA_PAYMASTERS', 1_000_000),
      ...quota('contractsPerPaymaster', 'PAYMASTER_QUOTA_CONTRACTS_PER_PAYMASTER', 1000),
      ...quota('policiesPerPaymaster', 'PAYMASTER_QUOTA_POLICIES_PER_PAYMASTER', 1000),
    },
    defaultContractAction: settings.oneOf('PAYMASTER_DEFAULT_CONTRACT_ACTION', ['Allow', 'Deny'], 'Allow'),
  };
}
