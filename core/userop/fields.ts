import { invalidInput, quote } from '../errors.js';
import type { Problem } from '../errors.js';
import { isAddressText, toAddressKey } from '../units/address.js';
import type { AddressKey } from '../units/address.js';
import type { Hex } from '../units/hex.js';

/** geth's pool takes no larger transaction, so nothing longer can be mined. */
export const maxBytes = 128 * 1024;

/** Width of an unsigned integer field. */
export type Width = { readonly bits: number; readonly max: bigint };

export function uint(bits: number): Width {
  return { bits, max: (1n << BigInt(bits)) - 1n };
}

const quantityPattern = /^(?:0x[0-9a-fA-F]+|[0-9]+)$/;
// Decimal text of 2^256 has 78 digits; longer texts are refused before anything parses them.
const maxQuantityLength = 80;

/**
 * Reads the fields of one untrusted object and gathers every problem with its path. A reader answers a harmless value
 * for a bad field, so that reading goes on; {@link Fields.done} throws if there was any problem.
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

  /** The object in field `name`; undefined when it is missing or no object (which is a problem). */
  nested(name: string): Fields | undefined {
    const value = this.input[name];
    if (value === undefined || value === null) return undefined;
    if (isRecord(value)) return new Fields(value, `${this.path}.${name}`, this.problems);
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

  /** Whole bytes as hex in any case, lowercased; '0x' when missing, and a problem when missing and `required`. */
  bytes(name: string, options: { readonly required?: boolean; readonly secret?: boolean } = {}): Hex {
    const value = this.input[name];
    if (isMissing(value)) {
      if (options.required === true && (value === undefined || value === null)) this.problem(name, 'given');
      return '0x';
    }
    // A signature must not appear in a message.
    const shown = options.secret === true ? undefined : value;
    const hex = parseHex(value);
    if (hex === undefined) {
      this.problem(name, 'whole bytes as 0x hex', shown);
      return '0x';
    }
    if (hex.length <= 2 + 2 * maxBytes) return hex;
    this.problem(name, `at most ${maxBytes} bytes long`, shown);
    return '0x';
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

const nobody = toAddressKey('0x0000000000000000000000000000000000000000');

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isMissing(value: unknown): boolean {
  return value === undefined || value === null || value === '' || value === '0x';
}

function parseQuantity(value: unknown): bigint | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 0 ? BigInt(value) : undefined;
  if (typeof value !== 'string' || value.length > maxQuantityLength) return undefined;
  return quantityPattern.test(value) ? BigInt(value) : undefined;
}

/**
 * Lowercase hex of whole bytes, or undefined. Decoding stops at the first wrong digit, so a text is good when it comes
 * back whole; on long callData this is several times faster than a pattern.
 */
function parseHex(value: unknown): Hex | undefined {
  if (typeof value !== 'string' || !isPrefixed(value)) return undefined;
  const digits = value.slice(2);
  const canonical = Buffer.from(digits, 'hex').toString('hex');
  if (canonical === digits) return value;
  return canonical === digits.toLowerCase() ? `0x${canonical}` : undefined;
}

function isPrefixed(text: string): text is Hex {
  return text.startsWith('0x');
}
