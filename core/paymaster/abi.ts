import { FunctionFragment, Interface } from 'ethers';
import type { Address, AddressKey } from '../units/address.js';
import { isHexBytes } from '../units/hex.js';
import type { Hex } from '../units/hex.js';
import { bytesToHex } from '../units/hex.js';
import type { FinalUserOperation } from '../userop/user-operation.js';
import { wordOf } from './reader.js';
import type { PaymasterGas } from './layout.js';
import {
  paymasterHeadSize,
  writeAccountGasLimits,
  writeGasFees,
  writePaymasterHead,
  zeroed,
} from './words.js';

// Calls for activation checks, made with ethers: seldom, and so independent of the encoders that they check.

/** Call data of `fragment`, e.g. `function getBalance(address)`. */
export function encodeCall(fragment: string, values: readonly unknown[]): Hex {
  const data = new Interface([fragment]).encodeFunctionData(FunctionFragment.from(fragment), values);
  if (!isHexBytes(data)) throw new TypeError('ethers encoded a call that is not hex');
  return data;
}

/** EntryPoint 0.6 `UserOperation` as a tuple type. */
export const userOperation06 =
  'tuple(address sender, uint256 nonce, bytes initCode, bytes callData, uint256 callGasLimit, uint256 verificationGasLimit, uint256 preVerificationGas, uint256 maxFeePerGas, uint256 maxPriorityFeePerGas, bytes paymasterAndData, bytes signature)';

export function userOperation06Values(op: FinalUserOperation, paymasterAndData: Hex): readonly unknown[] {
  return [
    op.sender,
    op.nonce,
    op.initCode,
    op.callData,
    op.callGasLimit,
    op.verificationGasLimit,
    op.preVerificationGas,
    op.maxFeePerGas,
    op.maxPriorityFeePerGas,
    paymasterAndData,
    op.signature,
  ];
}

/** EntryPoint 0.7+ `PackedUserOperation` as a tuple type. */
export const userOperation07 =
  'tuple(address sender, uint256 nonce, bytes initCode, bytes callData, bytes32 accountGasLimits, uint256 preVerificationGas, bytes32 gasFees, bytes paymasterAndData, bytes signature)';

export function userOperation07Values(op: FinalUserOperation, paymasterAndData: Hex): readonly unknown[] {
  const packed = zeroed(64);
  writeAccountGasLimits(packed, op, 0);
  writeGasFees(packed, op, 32);
  return [
    op.sender,
    op.nonce,
    op.initCode,
    op.callData,
    bytesToHex(packed.subarray(0, 32)),
    op.preVerificationGas,
    bytesToHex(packed.subarray(32)),
    paymasterAndData,
    op.signature,
  ];
}

/** The same with a `paymasterAndData` that ends after its head: what views hash before there is a signature. */
export function unsignedOperation07Values(
  op: FinalUserOperation,
  paymaster: Hex,
  gas: PaymasterGas,
): readonly unknown[] {
  const head = zeroed(paymasterHeadSize);
  writePaymasterHead(head, paymaster, gas);
  return userOperation07Values(op, bytesToHex(head));
}

/** `getBalance(id)`: what a funding wallet holds inside a contract with a deposit per sponsor. */
export function getBalanceCall(fundingAddress: AddressKey): Hex {
  return encodeCall('function getBalance(address id)', [fundingAddress]);
}

/** `tokenAccount()` of the contracts in `contracts/`: whose balance there pays for operations in token mode. */
export const tokenAccountCall: Hex = '0x30ddebcb';

/** `feeReceiver()` of the vendor's token paymaster 1.x. */
export const feeReceiverCall: Hex = '0xb3f00674';

type SignerCall = { readonly data: Hex; readonly isAuthorised: (result: Hex) => boolean };

/** For contracts with one signer: `verifyingSigner()` must answer it. */
export function verifyingSignerCall(signer: Address): SignerCall {
  return {
    data: encodeCall('function verifyingSigner()', []),
    isAuthorised: (result) => wordOf(result) === BigInt(signer),
  };
}

/** For contracts with a set of signers: `signers(signer)` must answer true. */
export function signersCall(signer: Address): SignerCall {
  return {
    data: encodeCall('function signers(address signer)', [signer]),
    isAuthorised: (result) => wordOf(result) === 1n,
  };
}
