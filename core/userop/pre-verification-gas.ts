import { executeUserOpSelector } from './account-functions.js';
import { hexSize, hexToBytes, type Hex } from '../units/hex.js';
import type { UserOperation } from '../entry-point/user-operation.js';

/** Base cost of a transaction. Assumes a bundle of one operation, the worst case for the bundler. */
const transactionGas = 21_000n;
/** What the EntryPoint itself uses per operation outside every limit, including a bundler's margin. */
const operationGas = 21_500n;
/**
 * Calldata of head, offsets, lengths and numbers of `handleOps` with one operation: it hardly depends on the
 * operation.
 */
const fixedCalldataGas = 5_500n;
/** Copying and hashing, per 32 bytes of dynamic data. */
const wordGas = 4n;
const zeroByteGas = 4n;
const nonZeroByteGas = 16n;
/**
 * The EntryPoint writes the whole operation twice more for `executeUserOp`: measured on 0.7. Later ones, from another compiler, take
 * 2,000 and 10.
 */
const wholeOperationGas = 3_000n;
const wholeOperationWordGas = 80n;
/** EIP-7702: an authorization in the bundle's transaction. */
const authorizationGas = 25_000n;

/**
 * Gas that a bundler asks for work that no limit covers: the transaction, calldata, and the EntryPoint's own work.
 * Bundlers differ by a few thousand; this figure is on the bundlers' side of break-even. This figure leaves out the
 * data fee of roll-ups, which `chain/data-fee` adds. `paymasterAndData` and signature must have their final length, as
 * in a stub.
 */
export function preVerificationGas(op: UserOperation, paymasterAndData: Hex): bigint {
  const fields = [op.initCode, op.callData, paymasterAndData, op.signature];
  const dynamic = fields.reduce((sum, field) => sum + dynamicGas(field), 0n);
  const authorization = op.eip7702Auth === undefined ? 0n : authorizationGas;
  const whole = op.callData.startsWith(executeUserOpSelector)
    ? wholeOperationGas + fields.reduce((sum, field) => sum + words(field), 0n) * wholeOperationWordGas
    : 0n;
  return transactionGas + operationGas + fixedCalldataGas + dynamic + authorization + whole;
}

/**
 * Longest signature that counts in a figure that bounds callers: no hash that a paymaster signs covers the signature.
 */
const maxCountedSignatureBytes = 2048;

/**
 * The part of an operation that counts in a figure that bounds what is signed: at most 2 KiB of the signature, and no
 * authorization. A caller who sends more, and has the operation mined without it, would keep the difference. Caps are
 * twice our own figure, so an honest operation with an authorization stays below.
 */
export function boundedForCaps(op: UserOperation): UserOperation {
  const { eip7702Auth: _authorization, ...rest } = op;
  return { ...rest, signature: `0x${op.signature.slice(2, 2 + 2 * maxCountedSignatureBytes)}` };
}

function dynamicGas(field: Hex): bigint {
  const bytes = hexToBytes(field);
  let zeros = 0;
  for (const byte of bytes) if (byte === 0) zeros += 1;
  const padding = -bytes.length & 31;
  return (
    BigInt(zeros + padding) * zeroByteGas +
    BigInt(bytes.length - zeros) * nonZeroByteGas +
    words(field) * wordGas
  );
}

function words(field: Hex): bigint {
  return BigInt((hexSize(field) + 31) >> 5);
}
