import { isObject } from '../schema/json-value.js';
import { invalidInput, quote, type Problem } from '../errors.js';
import { isAddressText, toAddressKey, zeroAddress, type AddressKey } from '../units/address.js';
import type { DecodedHex, Hex } from '../units/hex.js';

/** geth's transaction pool accepts no larger transaction, so nothing longer can be mined. */
export const maxBytes = 128 * 1024;

/** Width of an unsigned integer field. */
type Width = { readonly bits: number; readonly max: bigint };

export function uint(bits: number): Width {
  return { bits, max: (1n << BigInt(bits)) - 1n };
}

const quantityPattern = /^(?:0x[0-9a-fA-F]+|[0-9]+)$/;
// The decimal text of 2^256 has 78 digits; longer texts are refused before they are parsed.
const maxQuantityLength = 80;

/**
 * Reads the fields of one untrusted object and collects every problem with its path. For a bad field a reader answers
 * a harmless value, so that reading can continue; {@link Fields.done} throws if there was any problem.
 */
export class Fields {
  private readonly input: Readonly<Record<string, unknown>>;
  private readonly path: string;
  private readonly problems: Problem[];

  constructor(input: Readonly<Record<string, unknown>>, path: string, problems: Problem[] = []) {
    this.input = input;
    this.path = path;
    this.problems = problems;
  }

  /** The object in field `name`; undefined when it is missing or not an object (which is a problem). */
  nested(name: string): Fields | undefined {
    const value = this.input[name];
    if (value === undefined || value === null) return undefined;
    if (isObject(value)) return new Fields(value, `${this.path}.${name}`, this.problems);
    this.problem(name, 'an object', value);
    return undefined;
  }

  /** Hex, decimal text or a safe integer, at most `width` wide; undefined when missing (absent, null, '' or '0x'). */
  quantity(name: string, width: Width, options: { readonly secret?: boolean } = {}): bigint | undefined {
    const value = this.input[name];
    if (isMissing(value)) return undefined;
    const quantity = parseQuantity(value);
    if (quantity !== undefined && quantity <= width.max) return quantity;
    const expected =
      quantity === undefined
        ? 'a quantity as 0x hex, decimal text or a safe integer'
        : `at most ${width.bits} bits wide`;
    this.problem(name, expected, options.secret === true ? undefined : value);
    return 0n;
  }

  required(name: string, width: Width, options: { readonly secret?: boolean } = {}): bigint {
    const quantity = this.quantity(name, width, options);
    if (quantity === undefined) this.problem(name, 'given', this.input[name]);
    return quantity ?? 0n;
  }

  /**
   * Whole bytes as hex in any case, converted to lowercase; '0x' when missing, and a problem when missing and
   * `required`.
   */
  bytes(name: string, options: BytesOptions = {}): Hex {
    return this.decoded(name, options).hex;
  }

  /** As {@link Fields.bytes}, with the bytes themselves. */
  decoded(name: string, options: BytesOptions = {}): DecodedHex {
    const value = this.input[name];
    if (isMissing(value)) {
      if (options.required === true && (value === undefined || value === null)) this.problem(name, 'given');
      return nothing;
    }
    // A signature must not appear in a message.
    const shown = options.secret === true ? undefined : value;
    const decoded = decodeHex(value);
    if (decoded === undefined) {
      this.problem(name, 'whole bytes as 0x hex', shown);
      return nothing;
    }
    if (decoded.bytes.length <= maxBytes) return decoded;
    this.problem(name, `at most ${maxBytes} bytes long`, shown);
    return nothing;
  }

  /** Undefined when missing. */
  address(name: string): AddressKey | undefined {
    const value = this.input[name];
    if (isMissing(value)) return undefined;
    if (isAddressText(value)) return toAddressKey(value);
    this.problem(name, 'an address of 0x and 40 hex digits', value);
    return undefined;
  }

  requiredAddress(name: string): AddressKey {
    const before = this.problems.length;
    const address = this.address(name);
    if (address === undefined && this.problems.length === before) this.problem(name, 'given');
    return address ?? nobody;
  }

  isGiven(name: string): boolean {
    return !isMissing(this.input[name]);
  }

  raw(name: string): unknown {
    return this.input[name];
  }

  problem(name: string, expected: string, value?: unknown): void {
    this.problems.push({
      field: `${this.path}.${name}`,
      expected,
      ...(value === undefined ? {} : { value: quote(value) }),
    });
  }

  /** Throws INVALID_INPUT with every problem found. */
  done(): void {
    if (this.problems.length > 0) throw invalidInput(this.problems);
  }
}

type BytesOptions = { readonly required?: boolean; readonly secret?: boolean };

const nothing: DecodedHex = { hex: '0x', bytes: new Uint8Array() };
const nobody = toAddressKey(zeroAddress);

function isMissing(value: unknown): boolean {
  return value === undefined || value === null || value === '' || value === '0x';
}

function parseQuantity(value: unknown): bigint | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 0 ? BigInt(value) : undefined;
  if (typeof value !== 'string' || value.length > maxQuantityLength) return undefined;
  return quantityPattern.test(value) ? BigInt(value) : undefined;
}

/**
 * Whole bytes, or undefined. Decoding stops at the first wrong digit, so a text is valid only if the result is half
 * as long. The decoder looks only at the low byte of each character, so a text with characters outside ASCII is
 * refused first. The caller needs the bytes anyway, so on long callData this costs less than an additional regular
 * expression.
 */
function decodeHex(value: unknown): DecodedHex | undefined {
  if (typeof value !== 'string' || !isPrefixed(value)) return undefined;
  if (Buffer.byteLength(value) !== value.length) return undefined;
  const bytes = Buffer.from(value.slice(2), 'hex');
  if (2 + 2 * bytes.length !== value.length) return undefined;
  return { hex: value.toLowerCase() as Hex, bytes };
}

function isPrefixed(text: string): text is Hex {
  return text.startsWith('0x');
}
