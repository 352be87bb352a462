import { eachObject } from '../../adapters/resources/pages.js';
import { maxContracts } from '../../core/config/paymaster-config.js';
import { DomainError, invalidInput, isDomainError, quote } from '../../core/errors.js';
import { tooManyContracts } from '../../core/config/ranking.js';
import { objectKey } from '../../core/meta/meta.js';
import { smartContractObjectName } from '../../core/resources/names.js';
import type { Paymaster } from '../../core/resources/paymaster.js';
import type { SmartContract } from '../../core/resources/smart-contract.js';
import { arrayOf, record } from '../../core/schema/json-schema.js';
import { parseAddress } from '../../core/units/address.js';
import { given } from '../../core/units/given.js';
import type { PaymasterCall } from './call.js';
import type { Tools } from './deps.js';
import { documentBody, endpoint } from './endpoint.js';
import { pageParameters, readList, section } from './lists.js';
import { ofPaymaster, requireQuota, unlessDeleted } from './lookups.js';
import { address as anAddress, exampleAddress, text } from './record-schemas.js';
import {
  createContractSchema,
  deleteContractSchema,
  updateContractSchema,
  type CreateContract,
} from './schemas.js';
import { byAge, renderContract } from './views.js';

const names = arrayOf(text);
const schema = record({
  name: text,
  address: anAddress,
  abi: text,
  whitelistedMethods: names,
  methods: names,
});
const whitelisted = { address: exampleAddress, whitelistedMethods: ['mint'] };
const body = {
  name: 'shop',
  address: exampleAddress,
  abi: '[{"type":"function","name":"mint","stateMutability":"nonpayable","inputs":[],"outputs":[]}]',
  whitelistedMethods: ['mint'],
};
const example = { ...body, methods: ['mint'] };

export const createSmartContract = endpoint({
  operationId: 'createSmartContract',
  summary: 'Register a contract whose methods are sponsored',
  method: 'post',
  path: '/smart-contract',
  scope: 'paymaster',
  message: 'Smart contract registered successfully',
  body: documentBody(createContractSchema, (parse) => parse.createContract, body),

  async handle(tools, call) {
    const { abi, whitelistedMethods = [] } = call.body;
    const warnings = await requireMethods(tools, call, abi, whitelistedMethods);
    const contract = await tools.turns.run(turnName(call.paymaster), async () => {
      await requireFree(tools, call);
      return create(tools, call);
    });
    return {
      programmed: await tools.programmed.written('SmartContract', contract),
      object: contract,
      warnings,
    };
  },
});

export const listSmartContracts = endpoint({
  operationId: 'listSmartContracts',
  summary: 'List the registered contracts',
  method: 'get',
  path: '/smart-contract',
  scope: 'paymaster',
  parameters: pageParameters,
  cost: 'list',
  message: 'Smart contract list fetched',
  schema: arrayOf(schema),
  example: [example],

  async handle(tools, call) {
    const contracts = section('SmartContract', ofPaymaster(call.paymaster), (contract) =>
      renderContract(tools, call, contract),
    );
    return { list: await readList(tools.resources, [contracts], call.given) };
  },
});

/** Answers the contract as it is now, also when the methods did not change. */
export const updateSmartContract = endpoint({
  operationId: 'updateSmartContract',
  summary: 'Replace the whitelisted methods of a contract',
  method: 'patch',
  path: '/smart-contract',
  scope: 'paymaster',
  wrongKey: 'CONTRACT_NOT_FOUND',
  message: 'Smart contract updated',
  body: documentBody(updateContractSchema, (parse) => parse.updateContract, whitelisted),
  schema,
  example,

  async handle(tools, call) {
    const { address, whitelistedMethods } = call.body;
    const found = await findContract(tools, call.paymaster, address);
    const contract = await unlessDeleted(contractNotFound, () =>
      tools.writes.change('SmartContract', objectKey(found), async ({ spec }, owned) => {
        await requireMethods(tools, call, spec.abi, whitelistedMethods);
        return isSameList(spec.whitelistedMethods, whitelistedMethods)
          ? undefined
          : { ...owned, whitelistedMethods };
      }),
    );
    const programmed = await tools.programmed.written('SmartContract', contract);
    return { data: await renderContract(tools, call, contract), programmed, object: contract };
  },
});

export const deleteSmartContract = endpoint({
  operationId: 'deleteSmartContract',
  summary: 'Remove a contract',
  method: 'delete',
  path: '/smart-contract',
  scope: 'paymaster',
  wrongKey: 'CONTRACT_NOT_FOUND',
  message: 'Smart contract deleted',
  body: documentBody(deleteContractSchema, (parse) => parse.deleteContract, { address: exampleAddress }),

  async handle(tools, call) {
    const { address } = call.body;
    const found = await findContract(tools, call.paymaster, address);
    await unlessDeleted(contractNotFound, () => tools.writes.remove('SmartContract', objectKey(found)));
    return {
      programmed: await tools.programmed.deleted(call.principal.tenant, found),
      object: found,
    };
  },
});

/** Contracts of a paymaster, including those that a manifest made. */
export function listContracts(
  { resources }: Pick<Tools, 'resources'>,
  paymaster: Paymaster,
): AsyncIterable<SmartContract> {
  return eachObject(resources, 'SmartContract', ofPaymaster(paymaster));
}

async function create(
  { writes }: Tools,
  { paymaster, principal, body }: PaymasterCall<CreateContract>,
): Promise<SmartContract> {
  const { name, address, abi, whitelistedMethods } = body;
  const paymasterRef = { name: paymaster.metadata.name };
  const key = {
    namespace: principal.namespace,
    name: smartContractObjectName(paymasterRef.name, address),
  };
  const spec = {
    paymasterRef,
    name,
    address: parseAddress(address),
    abi,
    ...given({ whitelistedMethods }),
  };
  try {
    return await writes.create('SmartContract', key, spec, principal.tokenName);
  } catch (error) {
    throw isDomainError(error, 'ALREADY_EXISTS') ? addressExists() : error;
  }
}

/** Throws CONTRACT_EXISTS, ALREADY_EXISTS (which quotes the taken name) or QUOTA_EXCEEDED. */
async function requireFree(
  tools: Tools,
  { paymaster, principal, body: { name, address } }: PaymasterCall<CreateContract>,
): Promise<void> {
  let count = 0;
  let isNamed = false;
  for await (const contract of listContracts(tools, paymaster)) {
    if (isAt(contract, address)) throw addressExists();
    isNamed ||= contract.spec.name === name;
    count += 1;
  }
  if (isNamed)
    throw new DomainError('ALREADY_EXISTS', `A smart contract named ${quote(name)} already exists`);
  requireQuota(tools, principal, 'contractsPerPaymaster', count);
  if (count >= maxContracts) throw new DomainError('QUOTA_EXCEEDED', tooManyContracts);
}

async function findContract(tools: Tools, paymaster: Paymaster, address: string): Promise<SmartContract> {
  const all: SmartContract[] = [];
  for await (const contract of listContracts(tools, paymaster))
    if (isAt(contract, address)) all.push(contract);
  const [found] = byAge(all);
  if (!found) throw contractNotFound();
  return found;
}

/**
 * What was left out of the ABI, as warnings. Throws INVALID_INPUT for text that is not an ABI, and for methods that the ABI lacks,
 * listing those that it has.
 */
export async function requireMethods(
  { methodsOf }: Pick<Tools, 'methodsOf'>,
  { principal, gone }: Pick<PaymasterCall, 'principal' | 'gone'>,
  abi: string,
  whitelistedMethods: readonly string[],
): Promise<readonly string[]> {
  const { problems, warning } = await methodsOf(principal.tenant, { abi, whitelistedMethods }, gone);
  if (problems.length > 0) throw invalidInput(problems);
  return warning === undefined ? [] : [warning];
}

function isAt({ spec }: SmartContract, address: string): boolean {
  return spec.address.toLowerCase() === address.toLowerCase();
}

function isSameList(left: readonly string[] | undefined, right: readonly string[]): boolean {
  return left?.length === right.length && left.every((item, index) => item === right[index]);
}

function turnName({ metadata }: Paymaster): string {
  return `contracts of ${metadata.namespace ?? ''}/${metadata.name}`;
}

function addressExists(): DomainError {
  return new DomainError('CONTRACT_EXISTS', 'Smart contract address already exists');
}

function contractNotFound(): DomainError {
  return new DomainError('CONTRACT_NOT_FOUND', 'Smart contract not found');
}
