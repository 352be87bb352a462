import type { FinalUserOperation, PaymasterGas } from '../entry-point/user-operation.js';
import {
  writeAccountGasLimits,
  writeGasFees,
  writeGasFields,
  writeIdentity,
  writePaymasterGas,
} from '../entry-point/words.js';
import type { Hex } from '../units/hex.js';
import { writeAddressWord, writeUint256 } from '../units/words.js';

/** The chain and paymaster contract for which an operation is signed. */
type Scope = { readonly chainId: number; readonly paymaster: Hex };

/** Eleven words @0 that begin hashes for EntryPoint 0.6: identity, gas fields, chainId, paymaster. 352 bytes. */
export function writeScoped06(buffer: Buffer, op: FinalUserOperation, { chainId, paymaster }: Scope): void {
  writeIdentity(buffer, op, 0);
  writeGasFields(buffer, op, 128);
  writeUint256(buffer, BigInt(chainId), 288);
  writeAddressWord(buffer, paymaster, 320);
}

/**
 * Ten words @0 that begin hashes for EntryPoint 0.7: identity, accountGasLimits, the paymaster's limits, preVerificationGas,
 * gasFees, chainId, paymaster. 320 bytes.
 */
export function writeScoped07(
  buffer: Buffer,
  op: FinalUserOperation,
  { chainId, paymaster }: Scope,
  gas: PaymasterGas,
): void {
  writeIdentity(buffer, op, 0);
  writeAccountGasLimits(buffer, op, 128);
  writePaymasterGas(buffer, gas, 160);
  writeUint256(buffer, op.preVerificationGas, 192);
  writeGasFees(buffer, op, 224);
  writeUint256(buffer, BigInt(chainId), 256);
  writeAddressWord(buffer, paymaster, 288);
}
