import { toAddressKey, type AddressKey } from '../units/address.js';
import type { Hex } from '../units/hex.js';
import type { FinalUserOperation } from './user-operation.js';

/** An operation as it went to the EntryPoint. */
export type MinedUserOperation = FinalUserOperation & { readonly paymasterAndData: Hex };

/** At most this many operations of a bundle are read: lists of a bundle that was never mined could hold very many offsets into the same bytes. */
const maxOperations = 100_000;

type Shape = { readonly isPacked: boolean; readonly isAggregated: boolean };

const shapes: Readonly<Record<string, Shape>> = {
  // handleOps((address,uint256,bytes,bytes,uint256,uint256,uint256,uint256,uint256,bytes,bytes)[],address), 0.6
  '0x1fad948c': { isPacked: false, isAggregated: false },
  // handleAggregatedOps(((…)[],address,bytes)[],address), 0.6
  '0x4b1d7cf5': { isPacked: false, isAggregated: true },
  // handleOps((address,uint256,bytes,bytes,bytes32,uint256,bytes32,bytes,bytes)[],address), 0.7 and later
  '0x765e827f': { isPacked: true, isAggregated: false },
  // handleAggregatedOps(((…)[],address,bytes)[],address), 0.7 and later
  '0xdbed18e0': { isPacked: true, isAggregated: true },
};

/**
 * Finds the operation with this sender and nonce in a call of an EntryPoint, which mines at most one. Undefined when the call is
 * of another kind, or one that the EntryPoint refuses. Reads what the EntryPoint's compiled code reads: see {@link CallData}.
 * Reads only the operation that it finds as a whole.
 */
export function findInHandleOps(
  input: Hex,
  wanted: { readonly sender: AddressKey; readonly nonce: bigint },
): MinedUserOperation | undefined {
  const shape = shapes[input.slice(0, 10).toLowerCase()];
  if (shape === undefined) return undefined;
  try {
    const data = new CallData(input);
    for (const at of operations(data, shape))
      if (senderAt(data, at) === wanted.sender && data.word(at + 32n) === wanted.nonce)
        return shape.isPacked ? packed(data, at) : unpacked(data, at);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
  }
  return undefined;
}

/** Positions of the operations. */
function* operations(data: CallData, { isPacked, isAggregated }: Shape): Iterable<bigint> {
  const size = isPacked ? packedSize : unpackedSize;
  if (!isAggregated) return yield* data.elements(data.argument(), size);
  // UserOpsPerAggregator: operations, aggregator, signature.
  for (const group of data.elements(data.argument(), 96n))
    yield* data.elements(data.array(group, group), size);
}

/** EntryPoint 0.6: eleven words. */
const unpackedSize = 352n;
function unpacked(data: CallData, at: bigint): MinedUserOperation {
  const word = (index: bigint): bigint => data.word(at + 32n * index);
  return {
    ...identity(data, at),
    callGasLimit: word(4n),
    verificationGasLimit: word(5n),
    preVerificationGas: word(6n),
    maxFeePerGas: word(7n),
    maxPriorityFeePerGas: word(8n),
    paymasterAndData: data.bytes(at, 9n),
    signature: data.bytes(at, 10n),
  };
}

/** EntryPoint 0.7 and later: nine words, two of which hold two figures of 16 bytes each. */
const packedSize = 288n;
function packed(data: CallData, at: bigint): MinedUserOperation {
  const word = (index: bigint): bigint => data.word(at + 32n * index);
  return {
    ...identity(data, at),
    verificationGasLimit: word(4n) >> 128n,
    callGasLimit: word(4n) & uint128Max,
    preVerificationGas: word(5n),
    maxPriorityFeePerGas: word(6n) >> 128n,
    maxFeePerGas: word(6n) & uint128Max,
    paymasterAndData: data.bytes(at, 7n),
    signature: data.bytes(at, 8n),
  };
}

const uint128Max = (1n << 128n) - 1n;

function identity(data: CallData, at: bigint) {
  return {
    sender: senderAt(data, at),
    nonce: data.word(at + 32n),
    initCode: data.bytes(at, 2n),
    callData: data.bytes(at, 3n),
  };
}

/** The EntryPoint refuses a word that is not an address, so that no two operations of a bundle are alike here. */
function senderAt(data: CallData, at: bigint): AddressKey {
  return toAddressKey(`0x${data.hex(at, 32n).slice(24)}`);
}

/** The EntryPoint reverts for such call data. */
class Refused extends Error {}

const maxLength = (1n << 64n) - 1n;
const wrapped = (value: bigint): bigint => BigInt.asUintN(256, value);
const signed = (value: bigint): bigint => BigInt.asIntN(256, value);

/**
 * Reads call data as the compiled code of the EntryPoints does. Positions count modulo 2^256. The offset of an argument is at most
 * 64 bits; an offset inside another value is signed, so it may point backwards, and is checked against the end alone. Lengths are
 * at most 64 bits, and what they span ends within the call data. Words beyond the end are zero. Throws {@link Refused}.
 */
class CallData {
  readonly #hex: string;
  readonly #size: bigint;
  #operations = 0;

  constructor(input: Hex) {
    this.#hex = input.slice(2).toLowerCase();
    this.#size = BigInt(this.#hex.length >> 1);
  }

  word(at: bigint): bigint {
    return BigInt(`0x${this.hex(at, 32n)}`);
  }

  /** `size` bytes, without 0x. */
  hex(at: bigint, size: bigint): string {
    const start = wrapped(at);
    if (start >= this.#size) return '00'.repeat(Number(size));
    return this.#hex.slice(2 * Number(start), 2 * Number(start + size)).padEnd(2 * Number(size), '0');
  }

  /** The array that is the first argument. */
  argument(): { readonly begin: bigint; readonly length: bigint } {
    const offset = this.word(4n);
    if (offset > maxLength) throw new Refused();
    const at = 4n + offset;
    if (at + 31n >= this.#size) throw new Refused();
    return this.#span(at, 32n);
  }

  /** The array whose offset from `base` is at `pointer`. */
  array(base: bigint, pointer: bigint): { readonly begin: bigint; readonly length: bigint } {
    return this.#span(this.#tail(base, pointer, 32n), 32n);
  }

  /** Positions of the elements of an array; each has `size` bytes or more. */
  *elements(
    { begin, length }: { readonly begin: bigint; readonly length: bigint },
    size: bigint,
  ): Iterable<bigint> {
    for (let index = 0n; index < length; index += 1n) {
      this.#operations += 1;
      if (this.#operations > maxOperations) throw new Refused();
      yield this.#tail(begin, begin + 32n * index, size);
    }
  }

  /** The byte string whose offset is in word `index` of the struct at `at`. */
  bytes(at: bigint, index: bigint): Hex {
    const { begin, length } = this.#span(this.#tail(at, at + 32n * index, 32n), 1n);
    return `0x${this.hex(begin, length)}`;
  }

  #tail(base: bigint, pointer: bigint, size: bigint): bigint {
    const offset = this.word(pointer);
    if (signed(offset) >= signed(this.#size - base - (size - 1n))) throw new Refused();
    return wrapped(base + offset);
  }

  /** What follows the length at this position, in elements of `size` bytes. */
  #span(at: bigint, size: bigint): { readonly begin: bigint; readonly length: bigint } {
    const length = this.word(at);
    const begin = wrapped(at + 32n);
    if (length > maxLength || signed(begin) > signed(this.#size - length * size)) throw new Refused();
    return { begin, length };
  }
}
