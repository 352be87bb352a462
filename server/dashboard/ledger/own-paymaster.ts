import type { PaymasterConfig } from '../../../core/config/paymaster-config.js';
import { derivePaymasterId } from '../../../core/config/ids.js';
import { DomainError, invalidInput } from '../../../core/errors.js';
import { given } from '../../../core/units/given.js';
import type { Principal } from '../auth.js';
import type { Tools } from '../deps.js';

/** What readings need of a config; the rest may be a megabyte, and is not remembered. */
export type ReadConfig = Pick<
  PaymasterConfig,
  'paymasterId' | 'namespace' | 'objectName' | 'chainId' | 'version' | 'fundingAddress' | 'limits'
>;

/** The served config of a paymaster of the caller's organisation. A paymaster of another one is unknown. */
export async function ownPaymaster(
  { configs, lastSeen }: Pick<Tools, 'configs' | 'lastSeen'>,
  { namespace, tenant }: Pick<Principal, 'namespace' | 'tenant'>,
  paymasterId: string,
): Promise<ReadConfig | undefined> {
  const { config } = await lastSeen.of(`paymaster ${paymasterId}`, async () => ({
    config: readPart((await configs.getPaymaster(paymasterId))?.config),
  }));
  // The id is made from the tenant, so that of a former tenant of the namespace differs.
  const isOwn =
    config?.namespace === namespace && derivePaymasterId(tenant, config.objectName) === paymasterId;
  return isOwn ? config : undefined;
}

/** Each is read alone, so an answer about more would take seconds and be some megabytes. */
const maxPaymasters = 1000;
const readAtOnce = 8;

/**
 * The served paymasters that a question is about: the one that it names, or all of the organisation. Throws NOT_FOUND for one
 * that is not the organisation's, INVALID_INPUT when there are too many for one answer.
 */
export async function ownPaymasters(
  tools: Pick<Tools, 'configs' | 'lastSeen' | 'resources'>,
  principal: Principal,
  paymasterId: string | undefined,
): Promise<readonly ReadConfig[]> {
  if (paymasterId !== undefined) {
    const config = await ownPaymaster(tools, principal, paymasterId);
    if (config !== undefined) return [config];
    throw new DomainError('NOT_FOUND', 'The organisation has no served paymaster with this paymasterId');
  }
  const { namespace, tenant } = principal;
  const { ids } = await tools.lastSeen.of(`paymasters of ${tenant}`, async () => ({
    ids: (await tools.resources.list('Paymaster', { namespace }))
      .map(({ metadata }) => derivePaymasterId(tenant, metadata.name))
      .sort(),
  }));
  if (ids.length > maxPaymasters)
    throw invalidInput({
      field: 'paymasterId',
      expected: `given: the organisation has ${ids.length} paymasters, and an answer is about ${maxPaymasters} at most`,
    });
  const found: ReadConfig[] = [];
  for (let next = 0; next < ids.length; next += readAtOnce) {
    const read = ids.slice(next, next + readAtOnce).map((id) => ownPaymaster(tools, principal, id));
    found.push(...(await Promise.all(read)).filter((config) => config !== undefined));
  }
  return found;
}

function readPart(config: PaymasterConfig | undefined): ReadConfig | undefined {
  if (config === undefined) return undefined;
  const { paymasterId, namespace, objectName, chainId, version, fundingAddress, limits } = config;
  return { paymasterId, namespace, objectName, chainId, version, limits, ...given({ fundingAddress }) };
}
