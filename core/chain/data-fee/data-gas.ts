import { entryPointRules } from '../../entry-point/table.js';
import type { UserOperation } from '../../entry-point/user-operation.js';
import type { EntryPointVersion } from '../../entry-point/version.js';
import { hexToBytes, type Hex } from '../../units/hex.js';
import { divideUp, parseEther, smaller } from '../../units/wei.js';
import { boundedForCaps, preVerificationGas } from '../../userop/pre-verification-gas.js';
import type { Head } from '../heads.js';
import { dataFeeKinds } from './kinds.js';
import { defaultMaxDataFee, type DataFeeSpec } from './spec.js';
import { writeUint256, zeroed } from '../../units/words.js';

/** What is known about the data fee when a request is decided. */
export type DataFee = {
  readonly spec: DataFeeSpec;
  /** The oracle's price in the unit of the kind; 0 for a kind that is not followed. */
  readonly price: bigint;
  readonly network: Pick<Head, 'baseFeePerGas' | 'priorityFeePerGas'>;
};

type OperationInBundle = {
  readonly op: UserOperation;
  /** Of the final length, as in a stub. */
  readonly paymasterAndData: Hex;
  readonly version: EntryPointVersion;
};

/**
 * Percent that estimates add where a data fee is followed: it moves until the operation is sent, and bundlers add as much
 * to their own estimates. On EntryPoint 0.6 some of them count signature and paymasterAndData twice.
 */
const margins = { packed: 10n, unpacked: 15n } as const;

/** Our preVerificationGas: execution, calldata, and what the roll-up charges for the bytes that it posts. */
export function bundledPreVerificationGas(bundled: OperationInBundle, fee: DataFee): bigint {
  const ownGas = preVerificationGas(bundled.op, bundled.paymasterAndData);
  const gas = ownGas + dataGas(bundled, fee, { ownGas });
  if (!dataFeeKinds[fee.spec.kind].isFollowed) return gas;
  return divideUp(gas * (100n + margins[entryPointRules[bundled.version].form.name]), 100n);
}

/**
 * The same for caps: from signed fields only, and with so little data gas that it costs at most the `maxFee` of the
 * Chain, whatever its price when it is mined. So neither a caller, nor a tip, nor an oracle that lies can raise a cap
 * further.
 */
export function boundedPreVerificationGas(bundled: OperationInBundle, fee: DataFee): bigint {
  const op = boundedForCaps(bundled.op);
  const ownGas = preVerificationGas(op, bundled.paymasterAndData);
  const gas = dataGas({ ...bundled, op }, fee, { ownGas });
  const most = parseEther(fee.spec.maxFee ?? defaultMaxDataFee) / (op.maxFeePerGas || 1n);
  return ownGas + smaller(gas, most);
}

/** What `bytes` more of calldata add, if they do not compress: e.g. a call that a client inserts later. */
export function dataGasOfMore(bundled: OperationInBundle, fee: DataFee, bytes: number, gas: bigint): bigint {
  const ownGas = preVerificationGas(bundled.op, bundled.paymasterAndData);
  return (
    dataGas(bundled, fee, { ownGas: ownGas + gas, moreBytes: bytes }) - dataGas(bundled, fee, { ownGas })
  );
}

/**
 * What bundlers count on for each gas, in wei: base fee and the network's tip, or less where the operation offers less.
 * At least 1. A higher tip of the operation does not count: bundlers compute what they ask for at their own price.
 */
export function bundlersGasPrice(
  { maxFeePerGas, maxPriorityFeePerGas }: Pick<UserOperation, 'maxFeePerGas' | 'maxPriorityFeePerGas'>,
  { baseFeePerGas, priorityFeePerGas }: DataFee['network'],
): bigint {
  const price = baseFeePerGas + smaller(maxPriorityFeePerGas, priorityFeePerGas);
  return smaller(price, maxFeePerGas) || 1n;
}

function dataGas(
  { op, paymasterAndData, version }: OperationInBundle,
  { spec, price, network }: DataFee,
  { ownGas, moreBytes = 0 }: { readonly ownGas: bigint; readonly moreBytes?: number },
): bigint {
  const transaction = () => postedTransaction(op, paymasterAndData, version);
  const posted = { transaction, moreBytes, ownGas, gasPrice: bundlersGasPrice(op, network) };
  return dataFeeKinds[spec.kind].gas(posted, spec, price);
}

/** Bytes after compression that an ordinary operation posts, for reports. */
const ordinaryBytes = 500;

/** What posting an ordinary operation costs at this price of the oracle, in wei, for people. */
export function ordinaryDataFee(spec: DataFeeSpec, price: bigint): bigint {
  const posted = { transaction: () => new Uint8Array(), moreBytes: ordinaryBytes, ownGas: 0n, gasPrice: 1n };
  return dataFeeKinds[spec.kind].gas(posted, spec, price);
}

/**
 * The fields of the transaction around the calldata: numbers and fees 36, EntryPoint 20, RLP 12, signature 68. The
 * signature counts twice, as bundlers count it: they ask an oracle, which adds one, about a signed transaction.
 */
const frameBytes = 204;
/** An EIP-7702 authorization with its signature. */
const authorizationBytes = 100;
/** The paymaster's signature of 65 bytes, with the ten bytes that may follow it on EntryPoint 0.9. */
const paymasterSignatureBytes = 75;
const accountSignatureBytes = 65;
const wordBytes = 32;

/**
 * A bundler's transaction with this operation alone, as far as its size after compression depends on it. Bytes that
 * nobody knows yet, or that a wallet fills in later, are bytes that no compression makes smaller:
 *
 * - frame of the transaction, and of an EIP-7702 authorization.
 * - `handleOps` ‖ ABI: [operation], beneficiary.
 * - Gas limits: three bytes each, which may still change. Signatures of account and paymaster: their zeros are padding
 *   and stay, other bytes may be those of a placeholder that repeats itself.
 */
export function postedTransaction(
  op: UserOperation,
  paymasterAndData: Hex,
  version: EntryPointVersion,
): Uint8Array {
  const noise = new Noise();
  const frame = noise.bytes(op.eip7702Auth === undefined ? frameBytes : frameBytes + authorizationBytes);
  return Buffer.concat([frame, encodeHandleOps(listFields(op, paymasterAndData, version, noise), noise)]);
}

type Field = bigint | Uint8Array;

/** The members of the operation's struct, in the order of the EntryPoint's form. */
function listFields(
  op: UserOperation,
  paymasterAndData: Hex,
  version: EntryPointVersion,
  noise: Noise,
): readonly Field[] {
  const { maxFeePerGas, maxPriorityFeePerGas } = op;
  const limit = () => noise.number(3);
  const sender = BigInt(op.sender);
  const identity = [sender, op.nonce, hexToBytes(op.initCode), hexToBytes(op.callData)];
  const paymaster = hexToBytes(paymasterAndData);
  noise.over(paymaster.subarray(Math.max(0, paymaster.length - paymasterSignatureBytes)));
  const signature = op.signature === '0x' ? noise.bytes(accountSignatureBytes) : hexToBytes(op.signature);
  noise.over(signature);
  const gas =
    entryPointRules[version].form.name === 'packed'
      ? [pair(limit(), limit()), limit(), pair(maxPriorityFeePerGas, maxFeePerGas)]
      : [limit(), limit(), limit(), maxFeePerGas, maxPriorityFeePerGas];
  return [...identity, ...gas, paymaster, signature];
}

/** Two figures of 16 bytes in one word. */
function pair(high: bigint, low: bigint): bigint {
  return (high << 128n) | low;
}

/** Selector 4 ‖ offset ‖ beneficiary ‖ length 1 ‖ offset ‖ struct: words and offsets ‖ (length ‖ bytes, padded) … */
function encodeHandleOps(fields: readonly Field[], noise: Noise): Uint8Array {
  const head = 4 + 4 * wordBytes;
  const size = fields.reduce((sum, field) => sum + wordBytes + tailSize(field), head);
  const data = zeroed(size);
  data.set(noise.bytes(4), 0);
  writeUint256(data, BigInt(2 * wordBytes), 4);
  data.set(noise.bytes(20), 4 + wordBytes + 12);
  writeUint256(data, 1n, 4 + 2 * wordBytes);
  writeUint256(data, BigInt(wordBytes), 4 + 3 * wordBytes);
  let tail = head + fields.length * wordBytes;
  fields.forEach((field, index) => {
    const at = head + index * wordBytes;
    if (typeof field === 'bigint') return writeUint256(data, field, at);
    writeUint256(data, BigInt(tail - head), at);
    writeUint256(data, BigInt(field.length), tail);
    data.set(field, tail + wordBytes);
    tail += tailSize(field);
  });
  return data;
}

function tailSize(field: Field): number {
  return typeof field === 'bigint' ? 0 : wordBytes + Math.ceil(field.length / wordBytes) * wordBytes;
}

/** Bytes without a zero and without a repetition, the same in every run. */
class Noise {
  #state = 0x9e37_79b9;

  #next(): number {
    // xorshift32
    let x = this.#state;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.#state = x;
    return ((x >>> 8) % 255) + 1;
  }

  bytes(count: number): Uint8Array {
    return Uint8Array.from({ length: count }, () => this.#next());
  }

  number(bytes: number): bigint {
    return this.bytes(bytes).reduce((value, byte) => value * 256n + BigInt(byte), 0n);
  }

  /** Writes over all bytes but zeros. */
  over(bytes: Uint8Array): void {
    bytes.forEach((byte, index) => {
      if (byte !== 0) bytes[index] = this.#next();
    });
  }
}
