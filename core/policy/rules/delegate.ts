import { hashAuthorization } from 'ethers/hash';
import { getBytes } from 'ethers/utils';
import type { OpenZeppelinOptions } from '../../paymaster/openzeppelin/options.js';
import { toAddressKey, type AddressKey } from '../../units/address.js';
import { is7702InitCode } from '../../entry-point/eip-7702.js';
import { entryPointRules } from '../../entry-point/table.js';
import type { EntryPointVersion } from '../../entry-point/version.js';
import type { UserOperation } from '../../entry-point/user-operation.js';
import { pass, refuse, type Verdict } from '../../refusal.js';
import type { RecoverAddress } from '../../paymaster/signer.js';
import { hexToBytes } from '../../units/hex.js';

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

const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

/**
 * An EIP-7702 authorization must be one that a chain accepts: signed by the sender, with s in the lower half of the
 * order. The chain ignores any other, so the sender would not have the code that was simulated. The delegate rule
 * judges the chain and the delegate. The nonce is judged when the operation is simulated, because reading it needs a
 * call.
 */
export function decideAuthorization(
  { eip7702Auth, sender }: Pick<UserOperation, 'eip7702Auth' | 'sender'>,
  recover: RecoverAddress,
): Verdict {
  if (eip7702Auth === undefined) return pass;
  const { address, chainId, nonce, r, s, yParity } = eip7702Auth;
  if (!isWithin(r, order)) return invalid('r must be in 1…n-1 of secp256k1');
  if (!isWithin(s, order / 2n + 1n)) return invalid('s must be in 1…n/2 of secp256k1');
  const digest = getBytes(hashAuthorization({ address, chainId, nonce }));
  const signer = recover(digest, hexToBytes(`${r}${s.slice(2)}`), yParity);
  if (signer === undefined) return invalid('nobody can have signed it');
  return toAddressKey(signer) === sender
    ? pass
    : invalid(`it is signed by ${signer} for chain ${chainId}, delegate ${address} and nonce ${nonce}`);
}

function isWithin(word: string, bound: bigint): boolean {
  const value = BigInt(word);
  return value > 0n && value < bound;
}

function invalid(detail: string): Verdict {
  return refuse('AUTHORIZATION_INVALID', `eip7702Auth: ${detail}`);
}
