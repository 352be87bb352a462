import { parseAddressKey, type AddressKey } from '../../units/address.js';
import { is7702InitCode } from '../../entry-point/eip-7702.js';
import { entryPointRules } from '../../entry-point/table.js';
import type { EntryPointVersion } from '../../entry-point/version.js';
import type { UserOperation } from '../../entry-point/user-operation.js';
import { pass, refuse, type Verdict } from '../../refusal.js';

/** Factories that an `initCode` may name; undefined means any. */
export type FactoryList = ReadonlySet<AddressKey> | undefined;

/**
 * The paymaster pays for the factory's code before anyone looks at a call, so chain and paymaster may each list the
 * factories that they pay for; a factory passes if both allow it. This rule does not bound what a listed factory does
 * within its gas; `maxDeploymentGas` does.
 */
export function decideFactory(
  lists: { readonly chain: FactoryList; readonly paymaster: FactoryList },
  { initCode }: Pick<UserOperation, 'initCode'>,
  version: EntryPointVersion,
): Verdict {
  if (initCode === '0x' || (lists.chain === undefined && lists.paymaster === undefined)) return pass;
  // Marks an EIP-7702 account: nothing is called to create it.
  if (entryPointRules[version].readsEip7702Marker && is7702InitCode(initCode)) return pass;
  const factory = parseAddressKey(initCode.slice(0, 42));
  for (const [owner, list] of [
    ['Chain', lists.chain],
    ['Paymaster', lists.paymaster],
  ] as const)
    if (list !== undefined && !list.has(factory))
      return refuse('FACTORY_NOT_ALLOWED', `factory ${factory} is not in accountFactories of the ${owner}`);
  return pass;
}
