import type { ContractMethods, Selector } from '../resources/abi.js';
import { finding } from '../resources/conditions.js';
import type { Finding } from '../resources/conditions.js';
import type { SmartContract } from '../resources/smart-contract.js';
import { formatProblem } from '../errors.js';
import { isAddressText, parseAddress } from '../units/address.js';
import { maxContracts } from './paymaster-config.js';
import type { PaymasterConfig } from './paymaster-config.js';
import { compareAge, conflicts, rank } from './ranking.js';
import { tooManyContracts, youngerThan } from './too-many.js';

/** `readMethods` of `core/resources/abi.ts`, or one that remembers. */
export type ReadMethods = (abi: string, whitelistedMethods: readonly string[]) => ContractMethods;

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
    readonly readMethods: ReadMethods;
  },
): readonly CompiledContract[] {
  const served = new Set(
    (context.previous?.contracts ?? []).map(({ name, address }) => identityOf(name, address)),
  );
  const tooMany = youngerThan(contracts, maxContracts);
  const counting = contracts.filter((contract) => !tooMany.has(contract));
  const ranked = rank(counting, ({ spec }) => served.has(identityOf(spec.name, spec.address)));
  const sameAddress = conflicts(ranked, (contract) => contract.spec.address.toLowerCase());
  const sameName = conflicts(ranked, (contract) => contract.spec.name);
  const overQuota = new Set(context.quota === undefined ? [] : ranked.slice(context.quota));
  return [...contracts].sort(compareAge).map((object) => {
    // Not even read: what reading costs must not grow with what somebody adds.
    if (tooMany.has(object))
      return {
        object,
        accepted: finding('Accepted', 'TooMany', tooManyContracts),
        methods: [],
        selectors: [],
      };
    const problem =
      conflict(sameAddress.get(object), `address ${object.spec.address}`) ??
      conflict(sameName.get(object), `name "${object.spec.name}"`) ??
      (overQuota.has(object) ? quotaExceeded(context.quota) : undefined);
    return compileContract(object, problem, context.readMethods);
  });
}

function compileContract(
  object: SmartContract,
  problem: Finding | undefined,
  readMethods: ReadMethods,
): CompiledContract {
  const whitelist = readWhitelist(object, readMethods);
  const { methods, selectors } = whitelist;
  const accepted = problem ?? whitelist.problem ?? finding('Accepted', 'Accepted');
  const isServing = accepted.status === 'True' && object.spec.active !== false;
  if (!isServing) return { object, accepted, methods, selectors };
  const served = { name: object.spec.name, address: parseAddress(object.spec.address), selectors };
  return { object, accepted, methods, selectors, served };
}

function readWhitelist(
  { spec }: SmartContract,
  readMethods: ReadMethods,
): Pick<CompiledContract, 'methods' | 'selectors'> & {
  readonly problem?: Finding;
} {
  if (!isAddressText(spec.address))
    return { methods: [], selectors: [], problem: invalid(`spec.address must be 0x and 40 hex digits.`) };
  const { methods, selectors, problems } = readMethods(spec.abi, spec.whitelistedMethods ?? []);
  if (problems.length === 0) return { methods, selectors };
  return {
    methods,
    selectors: [],
    problem: invalid(`spec.${problems.map(formatProblem).join('; spec.')}.`),
  };
}

function identityOf(name: string, address: string): string {
  return `${address.toLowerCase()} ${name}`;
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
