import { noPolicies } from '../policy/derived.js';
import type { EpochMs } from '../units/time.js';
import type { ChainConfig } from './chain-config.js';
import { remember } from './memory.js';
import type { PaymasterConfig } from './paymaster-config.js';

/**
 * What remains of a deleted config, for as long as a replica or a usage store may still hold the config: its
 * generation, so that nobody signs by an older one, and the memory of its name. A reader that does not know
 * tombstones sees a config that signs nothing.
 */
export const tombstoneMs = 30 * 24 * 3_600_000;

export function buryPaymaster(config: PaymasterConfig, deletedAt: EpochMs): PaymasterConfig {
  const { paymasterId, namespace, objectName, name, chainId, version, configGeneration } = config;
  const memory = remember({
    keyGeneration: config.memory?.keyGeneration ?? 1,
    unserved: [],
    servedIds: new Set(),
    policyKeys: [],
    previous: config,
    now: deletedAt,
  });
  return {
    paymasterId,
    namespace,
    objectName,
    name,
    chainId,
    version,
    configGeneration,
    deletedAt,
    suspended: true,
    notReady: { reason: 'Deleted', message: 'The paymaster was deleted.' },
    keys: [],
    tokens: [],
    defaultContractAction: 'Deny',
    contractsRegistered: true,
    contracts: [],
    ...noPolicies,
    invalidPolicies: [],
    gas: {},
    maxExpirySeconds: 1,
    ...(memory === undefined ? {} : { memory }),
  };
}

export function buryChain(config: ChainConfig, deletedAt: EpochMs): ChainConfig {
  const { chainId, objectName, configGeneration, nativeCurrency, confirmations } = config;
  return {
    chainId,
    objectName,
    configGeneration,
    deletedAt,
    suspended: true,
    rpc: {},
    nativeCurrency,
    confirmations,
    delegates: [],
    gas: {},
    profiles: [],
    feeTokens: [],
  };
}
