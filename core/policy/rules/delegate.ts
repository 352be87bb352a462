import type { OpenZeppelinOptions } from '../../paymaster/openzeppelin/options.js';
import type { AddressKey } from '../../units/address.js';
import { is7702InitCode } from '../../entry-point/eip-7702.js';
import { entryPointRules } from '../../entry-point/table.js';
import type { EntryPointVersion } from '../../entry-point/version.js';
import type { UserOperation } from '../../entry-point/user-operation.js';
import { pass, refuse, type Verdict } from '../../refusal.js';

/** A chain's settings for EIP-7702. */
type DelegateRules = {
  readonly chainId: number;
  /** Delegates that operations may name. */
  readonly delegates: ReadonlySet<AddressKey>;
};

/**
 * An EIP-7702 operation runs the code of its delegate, so the platform must trust the delegate. One whose authorization is
 * for another chain would find no code. Chain id 0 authorises every chain. An operation that shows no authorization is judged by
 * {@link decideDelegateOnChain}, where it claims a delegate.
 */
export function decideDelegate(
  { chainId, delegates }: DelegateRules,
  { eip7702Auth }: Pick<UserOperation, 'eip7702Auth'>,
): Verdict {
  if (eip7702Auth === undefined) return pass;
  if (!delegates.has(eip7702Auth.address))
    return refuse('DELEGATE_NOT_ALLOWED', `delegate ${eip7702Auth.address}`);
  if (eip7702Auth.chainId !== 0n && eip7702Auth.chainId !== BigInt(chainId))
    return refuse(
      'DELEGATE_NOT_ALLOWED',
      `the authorization is for chain ${eip7702Auth.chainId}, the operation for chain ${chainId}`,
    );
  return pass;
}

/** Whether the operation says that its account has a delegate, and shows no authorization for one: then the account must have it already. */
export function isDelegateUnshown(
  { eip7702Auth, initCode }: Pick<UserOperation, 'eip7702Auth' | 'initCode'>,
  version: EntryPointVersion,
): boolean {
  return eip7702Auth === undefined && entryPointRules[version].readsEip7702Marker && is7702InitCode(initCode);
}

/** Judges the delegate that such an account has on chain; undefined: it has none. */
export function decideDelegateOnChain(
  { delegates }: Pick<DelegateRules, 'delegates'>,
  { options }: { readonly options: { readonly openZeppelin?: Pick<OpenZeppelinOptions, 'initCodeHash'> } },
  delegate: AddressKey | undefined,
): Verdict {
  if (delegate === undefined)
    return refuse(
      'DELEGATE_NOT_ALLOWED',
      'the factory is 0x7702, eip7702Auth is missing, and the account has no delegate on chain',
    );
  if (!delegates.has(delegate))
    return refuse('DELEGATE_NOT_ALLOWED', `delegate ${delegate}, which the account has on chain`);
  // Its hash has the delegate in place of the marker, and is made from what the operation shows.
  if (options.openZeppelin?.initCodeHash === 'Delegate')
    return refuse('DELEGATE_NOT_ALLOWED', 'this contract hashes the delegate: eip7702Auth must be given');
  return pass;
}
