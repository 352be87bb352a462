import { isDomainError } from '../errors.js';
import { methodsOf, selectorsOf } from '../resources/abi.js';
import type { ParsedAbi, Selector } from '../resources/abi.js';
import { finding } from '../resources/conditions.js';
import type { Finding } from '../resources/conditions.js';
import type { SmartContract } from '../resources/smart-contract.js';
import { formatProblem } from '../errors.js';
import { isAddressText, parseAddress } from '../units/address.js';
import type { PaymasterConfig } from './paymaster-config.js';
import { compareAge, conflicts, rank } from './ranking.js';

export type ReadAbi = (text: string) => ParsedAbi;

export type CompiledContract = {
  readonly object: SmartContract;
  readonly accepted: Finding;
  readonly methods: readonly string[];
  readonly selectors: readonly Selector[];
  /** What is served of it; absent when it is paused or not accepted. */
  readonly served?: PaymasterConfig['contracts'][number];
};

/**
 * Compiles the contracts of one paymaster, oldest first. One that is not accepted is not served: calls to it are
 * refused, which a mistake may do; keeping its last form could sponsor a method that was just taken out.
 */
export function compileContracts(
  contracts: readonly SmartContract[],
  context: {
    readonly previous: PaymasterConfig | undefined;
    readonly quota: number | undefined;
    readonly readAbi: ReadAbi;
  },
): readonly CompiledContract[] {
  const ranked = rank(contracts, (contract) => isServed(contract, context.previous));
  const sameAddress = conflicts(ranked, (contract) => contract.spec.address.toLowerCase());
  const sameName = conflicts(ranked, (contract) => contract.spec.name);
  const overQuota = new Set(context.quota === undefined ? [] : ranked.slice(context.quota));
  return [...contracts].sort(compareAge).map((object) => {
    const problem =
      conflict(sameAddress.get(object), `address ${object.spec.address}`) ??
      conflict(sameName.get(object), `name "${object.spec.name}"`) ??
      (overQuota.has(object) ? quotaExceeded(context.quota) : undefined);
    return compileContract(object, problem, context.readAbi);
  });
}

function compileContract(
  object: SmartContract,
  problem: Finding | undefined,
  readAbi: ReadAbi,
): CompiledContract {
  const whitelist = readWhitelist(object, readAbi);
  const { methods, selectors } = whitelist;
  const accepted = problem ?? whitelist.problem ?? finding('Accepted', 'Accepted');
  const isServing = accepted.status === 'True' && object.spec.active !== false;
  if (!isServing) return { object, accepted, methods, selectors };
  const served = { name: object.spec.name, address: parseAddress(object.spec.address), selectors };
  return { object, accepted, methods, selectors, served };
}

function readWhitelist(
  { spec }: SmartContract,
  readAbi: ReadAbi,
): Pick<CompiledContract, 'methods' | 'selectors'> & {
  readonly problem?: Finding;
} {
  if (!isAddressText(spec.address))
    return { methods: [], selectors: [], problem: invalid(`spec.address must be 0x and 40 hex digits.`) };
  try {
    const abi = readAbi(spec.abi);
    const { selectors, problems } = selectorsOf(abi, spec.whitelistedMethods ?? []);
    const methods = methodsOf(abi);
    if (problems.length === 0) return { methods, selectors };
    return {
      methods,
      selectors: [],
      problem: invalid(`spec.${problems.map(formatProblem).join('; spec.')}.`),
    };
  } catch (error) {
    if (!isDomainError(error, 'INVALID_INPUT')) throw error;
    return { methods: [], selectors: [], problem: invalid(`spec.${error.message}.`) };
  }
}

function isServed({ spec }: SmartContract, previous: PaymasterConfig | undefined): boolean {
  const address = spec.address.toLowerCase();
  return (previous?.contracts ?? []).some(
    (contract) => contract.name === spec.name && contract.address.toLowerCase() === address,
  );
}

function conflict(holder: SmartContract | undefined, what: string): Finding | undefined {
  if (holder === undefined) return undefined;
  return finding(
    'Accepted',
    'NameConflict',
    `SmartContract ${holder.metadata.name} has the ${what}: change or delete one.`,
  );
}

function quotaExceeded(quota: number | undefined): Finding {
  return finding(
    'Accepted',
    'QuotaExceeded',
    `The Organisation allows ${quota} contracts per paymaster: delete one.`,
  );
}

function invalid(message: string): Finding {
  return finding('Accepted', 'Invalid', message);
}
