import type { RecoverAddress } from '../../paymaster/signer.js';
import { hashAuthorization } from 'ethers/hash';
import { getBytes } from 'ethers/utils';

import { toAddressKey } from '../../units/address.js';
import { hexToBytes } from '../../units/hex.js';
import type { UserOperation } from '../../entry-point/user-operation.js';
import { pass, refuse, type Verdict } from '../../refusal.js';

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
