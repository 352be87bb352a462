import type { PaymasterConfig } from '../../../core/config/paymaster-config.js';
import { paymasterIdOf } from '../../../core/config/ids.js';
import { DomainError, invalidInput } from '../../../core/errors.js';
import { given } from '../../../core/units/given.js';
import type { Principal } from '../auth.js';
import type { LedgerTools } from './endpoint.js';

/** What readings need of a config; the rest may be a megabyte, and is not remembered. */
export type ReadConfig = Pick<
  PaymasterConfig,
  'namespace' | 'objectName' | 'chainId' | 'version' | 'fundingAddress' | 'limits'
>;

/** The served config of a paymaster of the caller's organisation. A paymaster of another one is unknown. */
export async function ownPaymaster(
  { configs, lastSeen }: Pick<LedgerTools, 'configs' | 'lastSeen'>,
  { namespace, tenant }: Principal,
  paymasterId: string | undefined,
): Promise<ReadConfig> {
  if (paymasterId === undefined)
    throw invalidInput({ field: 'paymasterId', expected: 'given: the id of one paymaster' });
  const { config } = await lastSeen.of(`paymaster ${paymasterId}`, async () => ({
    config: readPart((await configs.getPaymaster(paymasterId))?.config),
  }));
  // The id is made from the tenant, so that of a former tenant of the namespace differs.
  const isOwn = config?.namespace === namespace && paymasterIdOf(tenant, config.objectName) === paymasterId;
  if (config === undefined || !isOwn)
    throw new DomainError('NOT_FOUND', 'The organisation has no served paymaster with this paymasterId');
  return config;
}

function readPart(config: PaymasterConfig | undefined): ReadConfig | undefined {
  if (config === undefined) return undefined;
  const { namespace, objectName, chainId, version, fundingAddress, limits } = config;
  return { namespace, objectName, chainId, version, limits, ...given({ fundingAddress }) };
}
