import { addressKeyAt, type AddressKey } from '../units/address.js';
import type { DecodedHex } from '../units/hex.js';
import { Undecodable, type Range } from './call.js';

/**
 * Reads ABI-encoded arguments: numbers from the bytes, texts from the hex. As strict as Solidity's decoder or
 * stricter: everything is inside the range, addresses have zero padding, byte strings are padded to whole words, and
 * tails follow each other without overlap, as every encoder writes them. Positions are byte offsets from the start.
 */
export class AbiReader {
  /** Its hex is lowercase. */
  private readonly source: DecodedHex;
  /** Offsets of tails are counted from here. */
  private readonly base: number;
  private readonly end: number;
  /** End of the last tail that was read: the next tail must not begin before it. */
  private tail: number;

  /** Reads arguments whose head has `headWords` words and begins at `range.start`. */
  constructor(source: DecodedHex, range: Range, headWords: number) {
    this.source = source;
    this.base = range.start;
    this.end = range.end;
    this.tail = range.start + 32 * headWords;
    if (this.tail > this.end) throw new Undecodable(`the arguments at byte ${this.base} are cut off`);
  }

  /** An address, from the word at `at`. */
  address(at: number): AddressKey {
    this.expectWord(at);
    if (!this.isZero(at, at + 12))
      throw new Undecodable(`the word at byte ${at} is not an address: its padding is not zero`);
    return addressKeyAt(this.source.hex, at + 12);
  }

  /** A uint256, from the word at `at`. */
  uint256(at: number): bigint {
    this.expectWord(at);
    const { hex } = this.source;
    return this.isZero(at, at + 32) ? 0n : BigInt(`0x${hex.slice(2 + 2 * at, 66 + 2 * at)}`);
  }

  /** A length, offset or small integer, from the word at `at`. */
  size(at: number): number {
    this.expectWord(at);
    if (!this.isZero(at, at + 28))
      throw new Undecodable(`the word at byte ${at} is larger than any offset or length can be`);
    const { bytes } = this.source;
    let value = 0;
    for (let index = at + 28; index < at + 32; index += 1) value = value * 256 + bytes[index]!;
    return value;
  }

  /** The byte string whose offset is in the word at `at`. */
  bytes(at: number): Range {
    const from = this.tailAt(at);
    const start = from + 32;
    const end = start + this.size(from);
    this.take(at, start + Math.ceil((end - start) / 32) * 32);
    return { start, end };
  }

  /**
   * The array of one-word elements whose offset is in the word at `at`: position of the first element, and length, at
   * most `most`.
   */
  words(at: number, most: number): { readonly start: number; readonly length: number } {
    const from = this.tailAt(at);
    const length = this.length(from, most);
    const start = from + 32;
    this.take(at, start + 32 * length);
    return { start, length };
  }

  /**
   * A reader of the array of dynamic elements whose offset is in the word at `at`: word i holds the offset of element
   * i.
   */
  elements(
    at: number,
    most: number,
  ): { readonly reader: AbiReader; readonly start: number; readonly length: number } {
    const from = this.tailAt(at);
    const length = this.length(from, most);
    const start = from + 32;
    return { reader: new AbiReader(this.source, { start, end: this.end }, length), start, length };
  }

  /** A reader of the struct whose offset is in the word at `at`; its head has `headWords` words. */
  struct(at: number, headWords: number): { readonly reader: AbiReader; readonly start: number } {
    const start = this.tailAt(at);
    return { reader: new AbiReader(this.source, { start, end: this.end }, headWords), start };
  }

  /** Takes over the position of a reader that has read one of this reader's tails. */
  passed(inner: AbiReader): void {
    this.tail = inner.tail;
  }

  /** Position of the tail whose offset is in the word at `at`. */
  private tailAt(at: number): number {
    const position = this.base + this.size(at);
    if (position < this.tail)
      throw new Undecodable(`the offset at byte ${at} points back into what was read before`);
    return position;
  }

  private length(at: number, most: number): number {
    const length = this.size(at);
    if (length > most)
      throw new Undecodable(`the array at byte ${at} has ${length} elements, at most ${most} are read`);
    return length;
  }

  private take(at: number, end: number): void {
    if (end > this.end) throw new Undecodable(`what the offset at byte ${at} points to is cut off`);
    this.tail = end;
  }

  private expectWord(at: number): void {
    if (at + 32 > this.end) throw new Undecodable(`the word at byte ${at} lies outside`);
  }

  /** True when every byte from `from` to `to`, exclusive, is zero. */
  private isZero(from: number, to: number): boolean {
    const { bytes } = this.source;
    let set = 0;
    for (let index = from; index < to; index += 1) set |= bytes[index]!;
    return set === 0;
  }
}
