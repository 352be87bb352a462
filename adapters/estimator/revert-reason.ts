import { AbiCoder } from 'ethers/abi';
import { bytesToHex, hexSize, isHexBytes, type Hex } from '../../core/units/hex.js';
import { knownErrors, knownReasons, wrappingErrors } from './known-errors.js';
import { keccak256 } from '../../core/crypto/keccak.js';

/** Codes of Solidity's Panic(uint256) that people meet. */
const panics: Readonly<Record<string, string>> = {
  '1': 'assertion failed',
  '17': 'arithmetic overflow or underflow',
  '18': 'division by zero',
  '33': 'value is not a member of its enum',
  '50': 'array index out of bounds',
  '65': 'out of memory',
};

const errorSelector = '0x08c379a0';
const panicSelector = '0x4e487b71';
const maxReasonLength = 200;
/** Errors inside of errors are followed this far: a caller's contract may nest any number. */
const maxDepth = 3;
/** Longer byte strings are cut. */
const maxBytes = 32;

type RevertReason = {
  readonly text: string;
  /** What the caller can do about it, if that is known. */
  readonly remedy?: string;
};

/**
 * Revert data for people: the text of Error(string), a named Panic, a known custom error with its values, the selector
 * of any other, or `without a reason` for none; and what to do. Never more than 200 characters; unprintable ones are
 * dropped.
 */
export function explainRevert(data: Hex, depth = 0): RevertReason {
  if (data === '0x') return { text: 'without a reason' };
  const selector = data.slice(0, 10);
  const text = selector === errorSelector ? decode('string', data) : undefined;
  if (text !== undefined) return withRemedy(printable(text), remedyOfReason(text));
  const code = selector === panicSelector ? decode('uint256', data) : undefined;
  if (code !== undefined) return { text: `panic ${code} (${panics[code] ?? 'unknown'})` };
  const error = depth < maxDepth ? decodeCustomError(data) : undefined;
  if (error !== undefined) return explainError(error, depth);
  return { text: hexSize(data) < 4 ? `with ${data}` : `custom error ${selector}` };
}

/** `Name(value=…, value=…)`, with the error that it carries in place of the bytes, and that error's remedy. */
function explainError(error: CustomError, depth: number): RevertReason {
  const carried = wrappedData(error);
  const inner = carried === undefined ? undefined : explainRevert(carried, depth + 1);
  const values = error.values.map(({ name, value }) =>
    name === error.wraps && inner !== undefined ? `${name}=${inner.text}` : `${name}=${formatValue(value)}`,
  );
  return withRemedy(printable(`${error.name}(${values.join(', ')})`), inner?.remedy ?? error.remedy);
}

function formatValue(value: unknown): string {
  const text = String(value);
  return isHexBytes(text) && hexSize(text) > maxBytes ? `${text.slice(0, 2 + 2 * maxBytes)}...` : text;
}

/** A bundler's message, which may hold revert data as hex: known errors in it are named. */
export function explainMessage(message: string): RevertReason {
  let remedy: string | undefined;
  const text = message.replace(/0x[0-9a-f]{8}(?:[0-9a-f]{64})*(?![0-9a-f])/gi, (hex) => {
    if (!isHexBytes(hex) || decodeCustomError(hex) === undefined) return hex;
    const named = explainRevert(hex);
    remedy ??= named.remedy;
    return named.text;
  });
  return withRemedy(printable(text), remedy ?? remedyOfReason(text));
}

/** What to do about a reason of an EntryPoint, e.g. "AA25 invalid account nonce", or about the text of an account. */
export function remedyOfReason(reason: string): string | undefined {
  // A bundler writes something in front, and EntryPoint 0.6 puts the text of the account behind its own.
  const ofEntryPoint = /\bAA\d\d\b.*/su.exec(reason)?.[0] ?? reason;
  const ofAccount = ofEntryPoint.replace(/^AA\d\d reverted: /, '');
  return knownReasons.find(({ prefixes }) => prefixes.some((prefix) => ofAccount.startsWith(prefix)))?.remedy;
}

function withRemedy(text: string, remedy: string | undefined): RevertReason {
  return remedy === undefined ? { text } : { text, remedy };
}

/** Untrusted text on one line. */
export function printable(text: string): string {
  const line = text.replace(/[^\p{L}\p{N}\p{P}\p{S} ]+/gu, ' ').trim();
  return line.length > maxReasonLength ? `${line.slice(0, maxReasonLength - 3)}...` : line;
}

function decode(type: 'string' | 'uint256', data: Hex): string | undefined {
  try {
    const [value]: unknown[] = AbiCoder.defaultAbiCoder().decode([type], `0x${data.slice(10)}`);
    return typeof value === 'string' || typeof value === 'bigint' ? value.toString() : undefined;
  } catch {
    return undefined;
  }
}

/** A custom error with its values, and the revert data that it carries, if it is one that does. */
type CustomError = {
  readonly name: string;
  readonly values: readonly { readonly name: string; readonly value: unknown }[];
  /** The name of the value that is itself revert data. */
  readonly wraps?: string;
  readonly remedy?: string;
};

/** Undefined for errors that no row of {@link knownErrors} has, and for values that do not decode. */
function decodeCustomError(data: Hex): CustomError | undefined {
  const shape = shapes.get(data.slice(0, 10).toLowerCase());
  if (shape === undefined) return undefined;
  const { name, parameters, remedy, wraps } = shape;
  const types = parameters.map(({ type }) => type);
  try {
    const values: unknown[] = AbiCoder.defaultAbiCoder().decode(types, `0x${data.slice(10)}`);
    return {
      name,
      values: parameters.map((parameter, index) => ({ name: parameter.name, value: values[index] })),
      ...(wraps === undefined ? {} : { wraps }),
      ...(remedy === undefined ? {} : { remedy }),
    };
  } catch {
    return undefined;
  }
}

type Shape = {
  readonly name: string;
  readonly parameters: readonly { readonly type: string; readonly name: string }[];
  readonly wraps?: string;
  readonly remedy?: string;
};

/** By selector. ethers would parse all fragments, which takes fifty times as long. */
const shapes: ReadonlyMap<string, Shape> = new Map([
  ...knownErrors.flatMap(({ errors, remedy }) =>
    errors.map((text) => withSelector({ ...parse(text), ...(remedy === undefined ? {} : { remedy }) })),
  ),
  ...Object.entries(wrappingErrors).map(([text, wraps]) => withSelector({ ...parse(text), wraps })),
]);

/** `Name(type name, type name)` */
function parse(text: string): Shape {
  const [name = '', list = ''] = text.slice(0, -1).split('(');
  const parameters = list === '' ? [] : list.split(', ').map((parameter) => parameter.split(' '));
  return { name, parameters: parameters.map(([type = '', named = '']) => ({ type, name: named })) };
}

function withSelector(shape: Shape): readonly [string, Shape] {
  const signature = `${shape.name}(${shape.parameters.map(({ type }) => type).join(',')})`;
  return [bytesToHex(keccak256(Buffer.from(signature, 'latin1')).subarray(0, 4)), shape];
}

/** The revert data that the error carries. */
function wrappedData({ values, wraps }: CustomError): Hex | undefined {
  const value = values.find(({ name }) => name === wraps)?.value;
  return isHexBytes(value) ? value : undefined;
}
