import { derivePaymasterId } from '../../core/config/ids.js';
import { DomainError, formatProblem, isDomainError, quote } from '../../core/errors.js';
import type { ChainSpec } from '../../core/resources/chain.js';
import { paymasterObjectName } from '../../core/resources/names.js';
import type { Paymaster } from '../../core/resources/paymaster.js';
import { arrayOf, record } from '../../core/schema/json-schema.js';
import { currentApiKey, type Principal } from './auth.js';
import type { Tools } from './deps.js';
import { documentBody, endpoint } from './endpoint.js';
import { pageParameters, readList, section } from './lists.js';
import { requireQuota } from './lookups.js';
import { chainId, examplePaymasterId, text, uuid } from './record-schemas.js';
import { createPaymasterSchema, type CreatePaymaster } from './schemas.js';
import { byAge, renderPaymaster } from './views.js';

const members = { name: text, chainId, apiKey: text };
const example = {
  name: 'my dapp',
  chainId: 31337,
  apiKey: 'pTQl6ddXB.13961889-a442-4ec0-8392-8b5adf8b1ab6',
};
/** With the `paymasterId`, which the funding endpoints ask for. */
export const paymasterWithId = {
  schema: record({ ...members, paymasterId: uuid }),
  example: { ...example, paymasterId: examplePaymasterId },
};

export const listPaymasters = endpoint({
  operationId: 'listPaymasters',
  summary: 'List the paymasters of the organisation',
  method: 'get',
  path: '/paymaster',
  scope: 'organisation',
  namesBothHeaders: true,
  parameters: pageParameters,
  cost: 'list',
  message: 'DApp list fetched',
  schema: arrayOf(record(members)),
  example: [example],

  async handle(tools, { principal, given }) {
    const { namespace, tenant } = principal;
    const paymasters = section('Paymaster', { namespace }, async (paymaster) =>
      renderPaymaster(paymaster, await currentApiKey(tools, tenant, paymaster)),
    );
    return { list: await readList(tools.resources, [paymasters], given) };
  },
});

export const createPaymaster = endpoint({
  operationId: 'createPaymaster',
  summary: 'Create a paymaster for a DApp on a chain',
  method: 'post',
  path: '/paymaster',
  scope: 'organisation',
  message: 'DApp registered successfully',
  body: documentBody(createPaymasterSchema, (parse) => parse.createPaymaster, {
    name: 'my dapp',
    type: 'HYBRID',
    chainId: 31337,
    version: '1.1.0',
  }),
  ...paymasterWithId,

  async handle(tools, { principal, body }) {
    const paymaster = await tools.turns.run(`paymasters of ${principal.namespace}`, async () => {
      await requireProfile(tools, principal, body);
      await requireFreeName(tools, principal, body);
      return create(tools, principal, body);
    });
    const programmed = await tools.programmed.written('Paymaster', paymaster);
    const shown = renderPaymaster(paymaster, await currentApiKey(tools, principal.tenant, paymaster));
    const paymasterId = derivePaymasterId(principal.tenant, paymaster.metadata.name);
    return { data: { ...shown, paymasterId }, programmed, object: paymaster };
  },
});

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
export async function requireProfile(
  tools: Tools,
  { organisation }: Principal,
  { chainId, version }: Pick<CreatePaymaster, 'chainId' | 'version'>,
): Promise<void> {
  const { chains } = organisation.spec;
  const chain = chains && !chains.includes(chainId) ? undefined : await findChain(tools, chainId);
  if (!chain)
    throw new DomainError('CHAIN_NOT_SUPPORTED', 'Chain ID not supported', {
      problems: [{ field: 'spec.chainId', expected: 'a chain that is offered', value: String(chainId) }],
    });
  const versions = chain.profiles.map((profile) => profile.version);
  if (versions.includes(version)) return;
  const offered = versions.map((text) => `"${text}"`).join(', ');
  const problem = { expected: `one of ${offered}`, value: quote(version) };
  throw new DomainError('VERSION_NOT_SUPPORTED', formatProblem({ field: 'version', ...problem }), {
    problems: [{ field: 'spec.version', ...problem }],
  });
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
