import { integer, oneOf, type Settings } from '../settings.js';
import type { PlatformDefaults } from './platform.js';

const quotas = {
  paymasters: integer(
    'PAYMASTER_QUOTA_PAYMASTERS',
    'Paymasters that an Organisation may have. Absent: no bound.',
    {
      min: 0,
      max: 1_000_000,
    },
  ),
  contractsPerPaymaster: integer(
    'PAYMASTER_QUOTA_CONTRACTS_PER_PAYMASTER',
    'Contracts of a Paymaster. Absent: no bound.',
    { min: 0, max: 1000 },
  ),
  policiesPerPaymaster: integer(
    'PAYMASTER_QUOTA_POLICIES_PER_PAYMASTER',
    'Policies of a Paymaster. Absent: no bound.',
    { min: 0, max: 1000 },
  ),
};

const contracts = {
  defaultContractAction: oneOf(
    'PAYMASTER_DEFAULT_CONTRACT_ACTION',
    'What becomes of calls of contracts where a Paymaster does not say.',
    ['Allow', 'Deny'],
    'Allow',
  ),
};

export const platformSettings = { ...quotas, ...contracts };

/** Reads the platform's defaults. */
export function readPlatformDefaults(settings: Settings): PlatformDefaults {
  return { quotas: settings.read(quotas), ...settings.read(contracts) };
}
