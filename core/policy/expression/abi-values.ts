import { addressKeyAt, type AddressKey } from '../../units/address.js';
import type { DecodedHex, Hex } from '../../units/hex.js';
import type { AbiField, AbiType } from '../methods/abi-type.js';
import { EvaluationError } from './expression-error.js';

/**
 * Where a value stands in call data: `at` is the first byte of its words, and offsets of dynamic values are counted
 * from `base`. Nothing is read but what an expression asks for, whatever the call carries beside it.
 *
 * As strict as Solidity's decoder or stricter: everything lies inside the call's data, padding is zero, and an offset is
 * never negative, so the reader sees what the contract sees. Everything else is an {@link EvaluationError}.
 */
export type Place = { readonly at: number; readonly base: number };

export type CallBytes = { readonly source: DecodedHex; readonly end: number };

type TypeOf<K extends AbiType['kind']> = Extract<AbiType, { readonly kind: K }>;

/** The member of a tuple. */
export function placeOfField(
  bytes: CallBytes,
  tuple: TypeOf<'tuple'>,
  place: Place,
  { offset }: AbiField,
): Place {
  const start = enter(bytes, tuple, place);
  return { at: start + 32 * offset, base: start };
}

/** Number of elements of an array, or of bytes. */
export function readLength(
  bytes: CallBytes,
  type: TypeOf<'array' | 'bytes' | 'string'>,
  place: Place,
): number {
  if (type.kind === 'array' && type.length !== undefined) return type.length;
  const start = enter(bytes, type, place);
  const length = sizeAt(bytes, start);
  // A contract would revert; the length that was claimed says nothing.
  const size = type.kind === 'array' ? 32 * type.of.words * length : length;
  if (start + 32 + size > bytes.end) throw cutOff();
  return length;
}

/** The element of an array; undefined outside of it. */
export function placeOfElement(
  bytes: CallBytes,
  type: TypeOf<'array'>,
  place: Place,
  index: bigint,
): Place | undefined {
  if (index < 0n || index >= BigInt(readLength(bytes, type, place))) return undefined;
  const start = enter(bytes, type, place) + (type.length === undefined ? 32 : 0);
  return { at: start + 32 * type.of.words * Number(index), base: start };
}

export function integerAt(
  bytes: CallBytes,
  { bits, signed }: Pick<TypeOf<'integer'>, 'bits' | 'signed'>,
  { at }: Place,
): bigint {
  requireWord(bytes, at);
  const small = smallAt(bytes, at);
  const value = small === undefined ? BigInt(`0x${digits(bytes, at, at + 32)}`) : BigInt(small);
  const read = signed ? BigInt.asIntN(bits, value) : BigInt.asUintN(bits, value);
  if ((signed ? BigInt.asUintN(256, read) : read) !== value)
    throw new EvaluationError(`the argument is not ${signed ? 'an int' : 'a uint'}${bits}`);
  return read;
}

export function boolAt(bytes: CallBytes, { at }: Place): boolean {
  requireWord(bytes, at);
  const value = smallAt(bytes, at);
  if (value !== 0 && value !== 1) throw new EvaluationError('the argument is not a bool');
  return value === 1;
}

export function addressAt(bytes: CallBytes, { at }: Place): AddressKey {
  requireWord(bytes, at);
  if (!isZero(bytes, at, at + 12))
    throw new EvaluationError('the argument is not an address: its padding is not zero');
  return addressKeyAt(bytes.source.hex, at + 12);
}

export function fixedBytesAt(bytes: CallBytes, size: number, { at }: Place): Hex {
  requireWord(bytes, at);
  if (!isZero(bytes, at + size, at + 32))
    throw new EvaluationError(`the argument is not a bytes${size}: its padding is not zero`);
  return `0x${digits(bytes, at, at + size)}`;
}

/** The bytes of a byte string or text. */
export function bytesAt(bytes: CallBytes, type: TypeOf<'bytes' | 'string'>, place: Place): Hex {
  const start = enter(bytes, type, place) + 32;
  return `0x${digits(bytes, start, start + readLength(bytes, type, place))}`;
}

/** The first byte of the value at a place: there, or at its offset. */
function enter(bytes: CallBytes, type: AbiType, { at, base }: Place): number {
  return type.dynamic ? base + sizeAt(bytes, at) : at;
}

/** A length or an offset. */
function sizeAt(bytes: CallBytes, at: number): number {
  requireWord(bytes, at);
  const value = smallAt(bytes, at);
  if (value !== undefined) return value;
  throw new EvaluationError('an offset or a length of the arguments is larger than any data');
}

function requireWord({ end }: CallBytes, at: number): void {
  if (at + 32 > end) throw cutOff();
}

/** A word as a number; undefined if it needs more than six bytes. */
function smallAt(bytes: CallBytes, at: number): number | undefined {
  if (!isZero(bytes, at, at + 26)) return undefined;
  let value = 0;
  for (let index = at + 26; index < at + 32; index += 1) value = value * 256 + bytes.source.bytes[index]!;
  return value;
}

function isZero({ source: { bytes } }: CallBytes, from: number, to: number): boolean {
  for (let index = from; index < to; index += 1) if (bytes[index] !== 0) return false;
  return true;
}

function digits({ source: { hex } }: CallBytes, from: number, to: number): string {
  return hex.slice(2 + 2 * from, 2 + 2 * to);
}

function cutOff(): EvaluationError {
  return new EvaluationError('the arguments are cut off');
}
