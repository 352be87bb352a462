import { FunctionFragment, Interface } from 'ethers/abi';
import type { Address, AddressKey } from '../units/address.js';
import { isHexBytes, bytesToHex, type Hex } from '../units/hex.js';
import type { FinalUserOperation, PaymasterGas } from '../entry-point/user-operation.js';
import { parseWord } from './reader.js';
import { userOperation07Values } from '../entry-point/packed.js';
import { paymasterHeadSize, writePaymasterHead } from '../entry-point/words.js';
import { zeroed } from '../units/words.js';

// Calls for activation checks. They use ethers because they are rare, and because ethers is independent of the
// encoders that these calls check.

/** Call data of `fragment`, e.g. `function getBalance(address)`. */
export function encodeCall(fragment: string, values: readonly unknown[]): Hex {
  const data = new Interface([fragment]).encodeFunctionData(FunctionFragment.from(fragment), values);
  if (!isHexBytes(data)) throw new TypeError('ethers encoded a call that is not hex');
  return data;
}

/**
 * Values of a packed operation whose `paymasterAndData` ends after its head: what the contract's views hash before
 * there is a signature.
 */
export function unsignedOperation07Values(
  op: FinalUserOperation,
  paymaster: Hex,
  gas: PaymasterGas,
): readonly unknown[] {
  const head = zeroed(paymasterHeadSize);
  writePaymasterHead(head, paymaster, gas);
  return userOperation07Values(op, bytesToHex(head));
}

/**
 * `getBalance(id)`: the balance of a funding wallet inside a contract with a deposit per sponsor. The follower asks
 * for every wallet at every block, so this does not use ethers.
 */
export function getBalanceCall(fundingAddress: AddressKey): Hex {
  return `0xf8b2cb4f${fundingAddress.slice(2).padStart(64, '0')}`;
}

/**
 * `tokenAccount()` of the contracts in `contracts/`: the account whose balance there pays for operations in token
 * mode.
 */
export const tokenAccountCall: Hex = '0x30ddebcb';

/** `feeReceiver()` of the vendor's token paymaster 1.x. */
export const feeReceiverCall: Hex = '0xb3f00674';

type SignerCall = { readonly data: Hex; readonly isAuthorised: (result: Hex) => boolean };

// The operator asks for every key at every look at a contract, so these calls do not use ethers either.

/** For contracts with one signer: `verifyingSigner()` must answer it. */
export function verifyingSignerCall(signer: Address): SignerCall {
  return {
    data: '0x23d9ac9b',
    isAuthorised: (result) => parseWord(result) === BigInt(signer),
  };
}

/** For contracts with one signer: `signer()` must answer it. */
export function signerCall(signer: Address): SignerCall {
  return {
    data: '0x238ac933',
    isAuthorised: (result) => parseWord(result) === BigInt(signer),
  };
}

/** For contracts with a set of signers: `signers(signer)` must answer true. */
export function signersCall(signer: Address): SignerCall {
  return {
    data: `0x736c0d5b${signer.slice(2).toLowerCase().padStart(64, '0')}`,
    isAuthorised: (result) => parseWord(result) === 1n,
  };
}
