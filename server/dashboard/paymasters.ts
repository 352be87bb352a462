import { paymasterIdOf } from '../../core/config/ids.js';
import { DomainError, isDomainError, quote } from '../../core/errors.js';
import type { ChainSpec } from '../../core/resources/chain.js';
import { paymasterObjectName } from '../../core/resources/names.js';
import type { Paymaster } from '../../core/resources/paymaster.js';
import { currentApiKey, type Principal } from './auth.js';
import type { Tools } from './deps.js';
import type { Call, Reply } from './endpoint.js';
import { readList, section } from './lists.js';
import { requireQuota } from './lookups.js';
import type { CreatePaymaster } from './schemas.js';
import { byAge, renderPaymaster } from './views.js';

/** Endpoint 1. */
export async function listPaymasters(tools: Tools, { principal, page }: Call): Promise<Reply> {
  const { namespace, tenant } = principal;
  const paymasters = section('Paymaster', { namespace }, async (paymaster) =>
    renderPaymaster(paymaster, await currentApiKey(tools, tenant, paymaster)),
  );
  return { list: () => readList(tools.resources, [paymasters], page()) };
}

/** Endpoint 2. Also returns `paymasterId`, which the funding endpoints ask for. */
export async function createPaymaster(tools: Tools, { principal, body }: Call): Promise<Reply> {
  const input = tools.parse.createPaymaster(body);
  const paymaster = await tools.turns.run(`paymasters of ${principal.namespace}`, async () => {
    await requireProfile(tools, principal, input);
    await requireFreeName(tools, principal, input);
    return create(tools, principal, input);
  });
  const programmed = await tools.programmed.written('Paymaster', paymaster);
  const record = renderPaymaster(paymaster, await currentApiKey(tools, principal.tenant, paymaster));
  const paymasterId = paymasterIdOf(principal.tenant, paymaster.metadata.name);
  return { data: { ...record, paymasterId }, programmed, object: paymaster };
}

async function create(
  { writes }: Tools,
  { namespace, tokenName }: Principal,
  { name, chainId, type, version }: CreatePaymaster,
): Promise<Paymaster> {
  const key = { namespace, name: paymasterObjectName(chainId, name) };
  try {
    return await writes.create('Paymaster', key, { name, chainId, type, version }, tokenName);
  } catch (error) {
    // The object name is made from chain and name, so a duplicate created by another replica fails here.
    throw isDomainError(error, 'ALREADY_EXISTS') ? nameExists() : error;
  }
}

/** Throws CHAIN_NOT_SUPPORTED, or VERSION_NOT_SUPPORTED, which lists the versions that are offered. */
async function requireProfile(
  tools: Tools,
  { organisation }: Principal,
  { chainId, version }: CreatePaymaster,
): Promise<void> {
  const { chains } = organisation.spec;
  const chain = chains && !chains.includes(chainId) ? undefined : await findChain(tools, chainId);
  if (!chain) throw new DomainError('CHAIN_NOT_SUPPORTED', 'Chain ID not supported');
  const versions = chain.profiles.map((profile) => profile.version);
  if (versions.includes(version)) return;
  const offered = versions.map((text) => `"${text}"`).join(', ');
  throw new DomainError('VERSION_NOT_SUPPORTED', `version must be one of ${offered}, got ${quote(version)}`);
}

/** The chain as it is offered now; undefined when it is not offered. */
export async function findChain(
  { resources }: { readonly resources: Pick<Tools['resources'], 'list'> },
  chainId: number,
): Promise<ChainSpec | undefined> {
  const [chain] = byAge(await resources.list('Chain', { fields: { 'spec.chainId': String(chainId) } }));
  return chain?.spec;
}

/** Paymasters that a manifest made also take their names, and count towards the quota. */
async function requireFreeName(
  tools: Tools,
  principal: Principal,
  { name, chainId }: CreatePaymaster,
): Promise<void> {
  const { namespace } = principal;
  const fields = { 'spec.name': name, 'spec.chainId': String(chainId) };
  if ((await tools.resources.list('Paymaster', { namespace, fields })).length > 0) throw nameExists();
  const { length } = await tools.resources.list('Paymaster', { namespace });
  requireQuota(tools, principal, 'paymasters', length);
}

function nameExists(): DomainError {
  return new DomainError('PAYMASTER_NAME_EXISTS', 'paymaster_name_exists');
}
