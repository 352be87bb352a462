import { addressKeyAt, type AddressKey } from '../units/address.js';
import type { Hex } from '../units/hex.js';
import type { FinalUserOperation } from './user-operation.js';

/** An operation as it went to the EntryPoint. */
export type MinedUserOperation = FinalUserOperation & { readonly paymasterAndData: Hex };

/** Larger bundles are not read: no node relays a transaction of this size. */
const mostBytes = 1024 * 1024;
/** At most this many operations of a bundle are read: a bundle could hold very many offsets into the same bytes. */
const mostOperations = 10_000;

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
 * Finds the operation with this sender and nonce in a call of an EntryPoint, which mines at most one. Undefined when
 * the call is of another kind, too large, or not complete. Follows offsets as Solidity does. Reads only the operation
 * that it finds as a whole.
 */
export function findInHandleOps(
  input: Hex,
  wanted: { readonly sender: AddressKey; readonly nonce: bigint },
): MinedUserOperation | undefined {
  const shape = shapes[input.slice(0, 10).toLowerCase()];
  if (shape === undefined || input.length > 2 + 2 * mostBytes) return undefined;
  try {
    const reader = new Reader(input.toLowerCase() as Hex);
    const lists = shape.isAggregated
      ? reader.elements(reader.tail(4, 4)).map((aggregated) => reader.tail(aggregated, aggregated))
      : [reader.tail(4, 4)];
    for (const list of lists)
      for (const at of reader.elements(list))
        if (reader.address(at) === wanted.sender && reader.uint(at + 32) === wanted.nonce)
          return shape.isPacked ? packed(reader, at) : unpacked(reader, at);
  } catch (error) {
    if (!(error instanceof CutOff)) throw error;
  }
  return undefined;
}

/** EntryPoint 0.6: eleven words. */
function unpacked(reader: Reader, at: number): MinedUserOperation {
  const word = (index: number): bigint => reader.uint(at + 32 * index);
  return {
    ...identity(reader, at),
    callGasLimit: word(4),
    verificationGasLimit: word(5),
    preVerificationGas: word(6),
    maxFeePerGas: word(7),
    maxPriorityFeePerGas: word(8),
    paymasterAndData: reader.bytes(at, 9),
    signature: reader.bytes(at, 10),
  };
}

/** EntryPoint 0.7 and later: nine words, two of which hold two figures of 16 bytes each. */
function packed(reader: Reader, at: number): MinedUserOperation {
  const word = (index: number): bigint => reader.uint(at + 32 * index);
  return {
    ...identity(reader, at),
    verificationGasLimit: word(4) >> 128n,
    callGasLimit: word(4) & uint128Max,
    preVerificationGas: word(5),
    maxPriorityFeePerGas: word(6) >> 128n,
    maxFeePerGas: word(6) & uint128Max,
    paymasterAndData: reader.bytes(at, 7),
    signature: reader.bytes(at, 8),
  };
}

const uint128Max = (1n << 128n) - 1n;

function identity(reader: Reader, at: number) {
  return {
    sender: reader.address(at),
    nonce: reader.uint(at + 32),
    initCode: reader.bytes(at, 2),
    callData: reader.bytes(at, 3),
  };
}

class CutOff extends Error {}

/** Reads words of calldata at byte positions; throws {@link CutOff} beyond the end. */
class Reader {
  readonly #hex: Hex;
  #operations = 0;

  constructor(hex: Hex) {
    this.#hex = hex;
  }

  uint(at: number): bigint {
    return BigInt(this.#slice(at, 32));
  }

  address(at: number): AddressKey {
    return addressKeyAt(this.#slice(at, 32), 12);
  }

  /** The position that the offset in the word at `at` points to, counted from `base`. */
  tail(at: number, base: number): number {
    return base + this.#size(at);
  }

  /** Positions of the dynamic elements of the array at `at`. */
  elements(at: number): readonly number[] {
    const length = this.#size(at);
    this.#operations += length;
    if (this.#operations > mostOperations) throw new CutOff();
    const base = at + 32;
    return Array.from({ length }, (_, index) => this.tail(base + 32 * index, base));
  }

  /** The byte string whose offset is in word `index` of the struct at `at`. */
  bytes(at: number, index: number): Hex {
    const start = this.tail(at + 32 * index, at);
    return this.#slice(start + 32, this.#size(start));
  }

  #size(at: number): number {
    const value = this.uint(at);
    if (value > BigInt(mostBytes)) throw new CutOff();
    return Number(value);
  }

  #slice(at: number, size: number): Hex {
    const end = 2 + 2 * (at + size);
    if (end > this.#hex.length) throw new CutOff();
    return `0x${this.#hex.slice(2 + 2 * at, end)}`;
  }
}
