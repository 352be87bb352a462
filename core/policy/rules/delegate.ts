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
 * An EIP-7702 operation runs the code of its delegate, so the platform must trust the delegate. An operation that
 * claims to be an EIP-7702 operation and does not show its authorization cannot be judged. One whose authorization is
 * for another chain would find no code. Chain id 0 authorises every chain.
 */
export function decideDelegate(
  { chainId, delegates }: DelegateRules,
  { eip7702Auth, initCode }: Pick<UserOperation, 'eip7702Auth' | 'initCode'>,
  version: EntryPointVersion,
): Verdict {
  if (eip7702Auth === undefined)
    return entryPointRules[version].readsEip7702Marker && is7702InitCode(initCode)
      ? refuse('DELEGATE_NOT_ALLOWED', 'the factory is 0x7702 and eip7702Auth is missing')
      : pass;
  if (!delegates.has(eip7702Auth.address))
    return refuse('DELEGATE_NOT_ALLOWED', `delegate ${eip7702Auth.address}`);
  if (eip7702Auth.chainId !== 0n && eip7702Auth.chainId !== BigInt(chainId))
    return refuse(
      'DELEGATE_NOT_ALLOWED',
      `the authorization is for chain ${eip7702Auth.chainId}, the operation for chain ${chainId}`,
    );
  return pass;
}
