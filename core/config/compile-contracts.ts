import { given } from '../units/given.js';
import type { InParts } from '../units/in-parts.js';
import type { ContractMethods, Selector } from '../resources/abi.js';
import { finding, isConditionTrue, type Finding } from '../meta/conditions.js';
import type { SmartContract } from '../resources/smart-contract.js';
import { formatProblem } from '../errors.js';
import { isAddressText, parseAddress, type Address } from '../units/address.js';
import { checksumFinding } from './checksum.js';
import { maxContracts, type PaymasterConfig } from './paymaster-config.js';
import { quotaExceeded, type Quota } from './platform.js';
import { compareAge, conflicts, rank, tooManyContracts, youngerThan } from './ranking.js';

/** `readMethodsInParts` of `core/resources/abi.ts`, or a caching version of it. */
export type ReadMethods = (abi: string, whitelistedMethods: readonly string[]) => InParts<ContractMethods>;

export type CompiledContract = {
  readonly object: SmartContract;
  readonly accepted: Finding;
  readonly methods: readonly string[];
  /** Every function with the names of its parameters, as `core/resources/abi.ts` writes it. */
  readonly declarations: readonly string[];
  readonly selectors: readonly Selector[];
  /** Set when an address with a wrong checksum stays in use. */
  readonly checksum?: Finding;
  /** What is served for it; absent when the contract is paused or not accepted. */
  readonly served?: PaymasterConfig['contracts'][number];
  /** Set when the contract is accepted and paused. */
  readonly paused?: Address;
};

/**
 * Compiles the contracts of one paymaster, oldest first. A contract that is not accepted is not served, so calls to
 * it are refused. That is the safe effect of a mistake: serving its last accepted form instead could sponsor a method
 * that its owner has just removed. A contract that is wrong by itself claims neither its name nor its address,
 * because another contract may be the correction.
 */
export function* compileContracts(
  contracts: readonly SmartContract[],
  context: {
    readonly previous: PaymasterConfig | undefined;
    readonly quota: Quota | undefined;
    readonly readMethods: ReadMethods;
  },
): InParts<readonly CompiledContract[]> {
  const served = new Set(
    (context.previous?.contracts ?? []).map(({ name, address }) => contractIdentity(name, address)),
  );
  const tooMany = youngerThan(contracts, maxContracts);
  const counting = contracts.filter((contract) => !tooMany.has(contract));
  const ranked = rank(counting, ({ spec }) => served.has(contractIdentity(spec.name, spec.address)));
  const read = new Map<SmartContract, ReadContract>();
  for (const contract of counting) {
    yield;
    read.set(contract, yield* readContract(contract, served, context));
  }
  const sound = ranked.filter((contract) => read.get(contract)?.problem === undefined);
  const sameAddress = conflicts(sound, (contract) => contract.spec.address.toLowerCase());
  const sameName = conflicts(sound, (contract) => contract.spec.name);
  const overQuota = new Set(context.quota === undefined ? [] : ranked.slice(context.quota.count));
  const compiled: CompiledContract[] = [];
  for (const object of [...contracts].sort(compareAge)) {
    yield;
    const own = read.get(object);
    // Its ABI is not even read: the cost of reading must not grow with the number of contracts that someone adds.
    if (own === undefined) {
      const accepted = finding('Accepted', 'TooMany', tooManyContracts);
      compiled.push({ object, accepted, methods: [], declarations: [], selectors: [] });
      continue;
    }
    const problem =
      own.problem ??
      conflict(sameAddress.get(object), `address ${object.spec.address}`) ??
      conflict(sameName.get(object), `name "${object.spec.name}"`) ??
      (context.quota !== undefined && overQuota.has(object)
        ? quotaExceeded(context.quota, 'contracts per paymaster')
        : undefined);
    compiled.push(compileContract(object, own, problem));
  }
  return compiled;
}

function compileContract(
  object: SmartContract,
  { methods, declarations, selectors, checksum, warning }: ReadContract,
  problem: Finding | undefined,
): CompiledContract {
  const accepted = problem ?? acceptedWith(warning);
  const compiled = {
    object,
    accepted,
    methods,
    declarations,
    selectors,
    ...(checksum === undefined ? {} : { checksum }),
  };
  if (accepted.status !== 'True') return compiled;
  const address = parseAddress(object.spec.address);
  if (object.spec.active === false) return { ...compiled, paused: address };
  const served = { name: object.spec.name, address, selectors };
  return { ...compiled, served };
}

function acceptedWith(warning: string | undefined): Finding {
  const { message } = finding('Accepted', 'Accepted');
  return finding('Accepted', 'Accepted', warning === undefined ? message : `${message} ${warning}.`);
}

type ReadContract = Pick<CompiledContract, 'methods' | 'declarations' | 'selectors' | 'checksum'> & {
  /** What was left out of its ABI. */
  readonly warning?: string;
  /** What is wrong with the contract by itself, independent of other contracts. */
  readonly problem?: Finding;
};

function* readContract(
  object: SmartContract,
  served: ReadonlySet<string>,
  { readMethods }: { readonly readMethods: ReadMethods },
): InParts<ReadContract> {
  const { spec } = object;
  if (!isAddressText(spec.address))
    return { ...nothing, problem: invalid(`spec.address must be 0x and 40 hex digits.`) };
  const { methods, declarations, selectors, problems, warning } = yield* readMethods(
    spec.abi,
    spec.whitelistedMethods ?? [],
  );
  // The address of a contract never changes, so one that was accepted before checksums were judged stays accepted.
  const isInUse =
    served.has(contractIdentity(spec.name, spec.address)) || isConditionTrue(object, 'Accepted');
  const checksum = checksumFinding('spec.address', spec.address, isInUse);
  if (checksum?.type === 'Accepted') return { ...nothing, methods, problem: checksum };
  if (problems.length === 0) return { methods, declarations, selectors, ...given({ checksum, warning }) };
  return {
    ...nothing,
    methods,
    problem: invalid(`spec.${problems.map(formatProblem).join('; spec.')}.`),
  };
}

const nothing = { methods: [], declarations: [], selectors: [] } as const;

function contractIdentity(name: string, address: string): string {
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

function invalid(message: string): Finding {
  return finding('Accepted', 'Invalid', message);
}
