import { Wallet } from 'ethers';
import { unreachable } from '../../../core/errors.js';
import { signerCall, signersCall, verifyingSignerCall } from '../../../core/paymaster/abi.js';
import { parseAddress, toAddressKey, type Address } from '../../../core/units/address.js';
import type { Hex } from '../../../core/units/hex.js';
import { sponsorSignerKey } from '../../chain/support/dev-chain.js';
import type { ContractSpec } from './operations.js';

/** Two keys of the service; contracts accept the first one when they are deployed. A set of keys is a bit mask: bit 0 is the first. */
export const signingWallets = [new Wallet(sponsorSignerKey), new Wallet(`0x${'5e'.repeat(32)}`)] as const;
export const signingKeys: readonly Address[] = signingWallets.map(({ address }) => parseAddress(address));
export const firstKeyAlone = 1n;
/** What a contract with one signer names when it should accept none of ours. */
export const foreignKey = parseAddress(`0x${'f0'.repeat(20)}`);

export const accepts = (mask: bigint, key: number): boolean => ((mask >> BigInt(key)) & 1n) === 1n;

/** The keys that a contract accepts after its owner has changed one of them. */
export function changedKeys(
  keys: ContractSpec['keys'],
  mask: bigint,
  { key, isAccepted }: { readonly key: number; readonly isAccepted: boolean },
): bigint {
  const bit = 1n << BigInt(key);
  switch (keys) {
    case 'fixed':
      return mask;
    case 'one':
      return isAccepted ? bit : 0n;
    case 'several':
      return isAccepted ? mask | bit : mask & ~bit;
    default:
      return unreachable(keys);
  }
}

const [first] = signingKeys as readonly [Address, ...Address[]];
/** `verifyingSigner()` and `signer()`. */
const onlySigner = [verifyingSignerCall(first).data, signerCall(first).data];
const questions = signingKeys.map((address) => signersCall(address).data);

/** What a contract answers when it is asked for its signers; undefined for any other question. */
export function answerAboutKeys(keys: ContractSpec['keys'], mask: bigint, data: Hex): bigint | undefined {
  if (keys === 'several') {
    const key = questions.indexOf(data);
    return key === -1 ? undefined : (mask >> BigInt(key)) & 1n;
  }
  if (!onlySigner.includes(data)) return undefined;
  const key = signingKeys.findIndex((_, index) => accepts(mask, index));
  return BigInt(toAddressKey(signingKeys[key] ?? foreignKey));
}
