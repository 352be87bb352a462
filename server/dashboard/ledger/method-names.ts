import { inTime } from '../../../adapters/within-deadline.js';
import { isDomainError, unlessUnavailable } from '../../../core/errors.js';
import type { DecidedCall } from '../../../core/ledger/record.js';
import type { InParts } from '../../../core/units/in-parts.js';
import { parseAbiInParts } from '../../../core/resources/abi.js';
import type { Principal } from '../auth.js';
import type { Tools } from '../deps.js';
import { noAnswerInTime } from '../last-seen.js';

/** The name that the ABI of a registered contract has for a method now; undefined when it has none. */
export type MethodNames = (contractId: string, selector: string) => string | undefined;

/** Of one answer: reads each contract once, however many pages the answer has. */
export type MethodNamesReader = (contractIds: ReadonlySet<string>) => Promise<MethodNames>;

/** An answer is worth more than the names in it: while the API server is away, methods have none. */
const patienceMs = 2_000;

/** Methods of further contracts of an answer stay without a name: each costs a look-up. */
const maxContracts = 100;

export function createMethodNames(
  { resources, pace }: Pick<Tools, 'pace'> & { readonly resources: Pick<Tools['resources'], 'list'> },
  { namespace }: Pick<Principal, 'namespace'>,
): MethodNamesReader {
  const read = new Map<string, ReadonlyMap<string, string>>();
  let isAway = false;

  async function readContract(name: string): Promise<void> {
    // Paymasters of the organisation may have contracts of the same name.
    const listed = resources.list('SmartContract', { namespace, fields: { 'spec.name': name } });
    const contracts = await unlessUnavailable(inTime(patienceMs, listed, noAnswerInTime));
    isAway = contracts === undefined;
    const names = new Map<string, string>();
    for (const { spec } of contracts ?? [])
      for (const [selector, method] of await pace.run(parseFunctions(spec.abi))) names.set(selector, method);
    read.set(name, names);
  }

  return async (contractIds) => {
    for (const name of contractIds)
      if (!read.has(name) && read.size < maxContracts && !isAway) await readContract(name);
    return (contractId, selector) => read.get(contractId)?.get(selector);
  };
}

/** Names of the registered contracts among the targets. */
export function listContractIds(calls: readonly DecidedCall[]): ReadonlySet<string> {
  return new Set(calls.flatMap(({ contractId }) => (contractId === undefined ? [] : [contractId])));
}

/** Selectors with their names; none of an ABI that cannot be read. */
function* parseFunctions(abi: string): InParts<readonly (readonly [selector: string, name: string])[]> {
  try {
    return (yield* parseAbiInParts(abi)).functions.map(({ selector, name }) => [selector, name]);
  } catch (error) {
    if (!isDomainError(error, 'INVALID_INPUT')) throw error;
    return [];
  }
}
