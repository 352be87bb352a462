import type { Hex } from '../units/hex.js';
import { eip7702Factory } from './eip-7702.js';
import type { EntryPointVersion, UserOperation } from './user-operation.js';

/** An operation as wallets and bundlers exchange it: ERC-4337 field names, hex quantities without leading zeros. */
export type RenderedUserOperation = Readonly<Record<string, unknown>>;

/**
 * Renders for webhooks and explanations, in the shape of the EntryPoint's version: `initCode` and `paymasterAndData` on
 * 0.6; `factory`, `factoryData` and the paymaster's four fields on 0.7+, left out where empty. Missing limits are left out.
 */
export function renderUserOperation(
  op: UserOperation,
  version: EntryPointVersion,
  paymasterAndData: Hex = '0x',
): RenderedUserOperation {
  return {
    sender: op.sender,
    nonce: quantity(op.nonce),
    ...(version === '0.6' ? { initCode: op.initCode } : renderFactory(op.initCode)),
    callData: op.callData,
    ...optional('callGasLimit', op.callGasLimit),
    ...optional('verificationGasLimit', op.verificationGasLimit),
    ...optional('preVerificationGas', op.preVerificationGas),
    maxFeePerGas: quantity(op.maxFeePerGas),
    maxPriorityFeePerGas: quantity(op.maxPriorityFeePerGas),
    ...(version === '0.6' ? { paymasterAndData } : renderPaymaster(paymasterAndData)),
    signature: op.signature,
    ...(op.eip7702Auth === undefined ? {} : { eip7702Auth: renderAuthorization(op.eip7702Auth) }),
  };
}

/** The four unpacked fields of `paymasterAndData` on EntryPoint 0.7+; none for `0x`. */
export function renderPaymaster(paymasterAndData: Hex): RenderedUserOperation {
  if (paymasterAndData === '0x') return {};
  return {
    paymaster: paymasterAndData.slice(0, 42),
    paymasterVerificationGasLimit: quantity(BigInt(`0x${paymasterAndData.slice(42, 74)}`)),
    paymasterPostOpGasLimit: quantity(BigInt(`0x${paymasterAndData.slice(74, 106)}`)),
    paymasterData: `0x${paymasterAndData.slice(106)}`,
  };
}

function renderFactory(initCode: Hex): RenderedUserOperation {
  if (initCode === '0x') return {};
  const factory = initCode.slice(0, 42);
  return {
    // ERC-4337 writes the marker of an EIP-7702 account without its padding.
    factory: factory.padEnd(42, '0') === eip7702Factory ? '0x7702' : factory,
    factoryData: `0x${initCode.slice(42)}`,
  };
}

function renderAuthorization(auth: NonNullable<UserOperation['eip7702Auth']>): RenderedUserOperation {
  return {
    ...auth,
    chainId: quantity(auth.chainId),
    nonce: quantity(auth.nonce),
    yParity: quantity(BigInt(auth.yParity)),
  };
}

function optional(name: string, value: bigint | undefined): RenderedUserOperation {
  return value === undefined ? {} : { [name]: quantity(value) };
}

function quantity(value: bigint): Hex {
  return `0x${value.toString(16)}`;
}
