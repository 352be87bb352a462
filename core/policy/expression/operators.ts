import type { BinaryOperator } from '@marcbachmann/cel-js';
import { hasWrongChecksum, isAddressText, toAddressKey } from '../../units/address.js';
import { bytesToHex, isHexBytes, type Hex } from '../../units/hex.js';
import { EvaluationError, ExpressionError } from './expression-error.js';
import type { NamedMethods } from '../methods/methods.js';
import {
  countSteps,
  stepsOfNumber,
  typeName,
  type Bool,
  type Bytes,
  type Int,
  type Item,
  type CallMethods,
  type Method,
  type Read,
} from './typed.js';

type Arithmetic = Extract<BinaryOperator, '+' | '-' | '*' | '/' | '%'>;
type Order = Extract<BinaryOperator, '<' | '<=' | '>' | '>='>;

/** The product of any two numbers of the EntryPoint has room; what has none is an error, never another number. */
const bound = 1n << 512n;

export function within(value: bigint): bigint {
  if (value >= bound || value <= -bound) throw new EvaluationError('a number has more than 512 bits');
  return value;
}

const arithmetic: Readonly<Record<Arithmetic, (a: bigint, b: bigint) => bigint>> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => a / nonZero(b),
  '%': (a, b) => a % nonZero(b),
};

function nonZero(divisor: bigint): bigint {
  if (divisor === 0n) throw new EvaluationError('a number is divided by zero');
  return divisor;
}

const orders: Readonly<Record<Order, (a: bigint, b: bigint) => boolean>> = {
  '<': (a, b) => a < b,
  '<=': (a, b) => a <= b,
  '>': (a, b) => a > b,
  '>=': (a, b) => a >= b,
};

export function isArithmetic(operator: BinaryOperator): operator is Arithmetic {
  return Object.hasOwn(arithmetic, operator);
}

export function isOrder(operator: BinaryOperator): operator is Order {
  return Object.hasOwn(orders, operator);
}

export function calculate(operator: Arithmetic, left: Int, right: Int): Int {
  const apply = arithmetic[operator];
  return {
    type: 'int',
    read: countSteps((run) => within(apply(left.read(run), right.read(run))), stepsOfNumber),
  };
}

export function order(operator: Order, left: Int, right: Int, text: string): Bool {
  const apply = orders[operator];
  return {
    type: 'bool',
    read: countSteps((run) => apply(left.read(run), right.read(run))),
    why: (run) => `${text} is false: ${left.read(run)} and ${right.read(run)}`,
  };
}

type Comparable = Int | Bool | Bytes | Method;

/** `left == right`, or `left in [right, …]`; `isNot`: `!=`. Throws ExpressionError for types that cannot be equal. */
export function equal(
  { typed: left, start }: Item,
  rights: readonly Item[],
  context: { readonly isNot: boolean; readonly text: string; readonly methods: NamedMethods },
): Bool {
  const { isNot, text, methods } = context;
  if (!isComparable(left)) throw new ExpressionError(`${typeName(left)} cannot be compared`, start);
  const compared: Read<string | bigint | boolean> = left.read;
  const reads = rights.map((right) => readAs(left, right, methods));
  const knows = knownCalls(left, rights, methods);
  return {
    type: 'bool',
    read: (run) => {
      run.step();
      const value = compared(run);
      for (const read of reads) {
        run.step();
        if (read(run) === value) return !isNot;
      }
      return isNot;
    },
    why: (run) => `${text} is false: ${describeValue(compared(run))}`,
    ...(knows === undefined ? {} : isNot ? { whenFalse: knows } : { whenTrue: knows }),
  };
}

/** What follows when `left` is equal to the only one of `rights`: the method of a call. */
function knownCalls(
  left: Comparable,
  [right, ...others]: readonly Item[],
  methods: NamedMethods,
): CallMethods | undefined {
  if (left.type !== 'method' || left.path === undefined) return undefined;
  if (right?.typed.type !== 'text' || others.length > 0) return undefined;
  const method = methods.get(right.typed.text);
  return method && new Map([[left.path, method]]);
}

function isComparable(typed: Item['typed']): typed is Comparable {
  return ['int', 'bool', 'address', 'bytes', 'string', 'method'].includes(typed.type);
}

/** The right side of a comparison, in the type of the left one. */
function readAs(left: Comparable, right: Item, methods: NamedMethods): Read<string | bigint | boolean> {
  const { typed, start } = right;
  if (typed.type === 'text') {
    const value = parseLiteral(left, typed.text, start, methods);
    return () => value;
  }
  const isSame =
    typed.type === left.type &&
    // Both sides are calls: nothing says which methods could be meant.
    left.type !== 'method' &&
    (left.type !== 'bytes' || typed.type !== 'bytes' || left.size === typed.size);
  if (!isSame || !isComparable(typed))
    throw new ExpressionError(`${typeName(left)} cannot be compared with ${typeName(typed)}`, start);
  return typed.read;
}

function parseLiteral(left: Comparable, text: string, start: number, methods: NamedMethods): Hex {
  switch (left.type) {
    case 'address':
      if (!isAddressText(text)) throw new ExpressionError('an address is 0x and 40 hex digits', start);
      if (hasWrongChecksum(text))
        throw new ExpressionError(
          'upper and lower case of this address are not its EIP-55 checksum: look for a typing mistake',
          start,
        );
      return toAddressKey(text);
    case 'bytes':
      if (!isHexBytes(text)) throw new ExpressionError('bytes are compared with hex such as "0x01ff"', start);
      if (left.size !== undefined && text.length !== 2 + 2 * left.size)
        throw new ExpressionError(`bytes${left.size} have ${2 * left.size} hex digits`, start);
      return text.toLowerCase() as Hex;
    case 'string':
      return bytesToHex(Buffer.from(text));
    case 'method':
      return parseSelector(text, start, methods);
    default:
      throw new ExpressionError(`${typeName(left)} cannot be compared with a text`, start);
  }
}

function parseSelector(signature: string, start: number, methods: NamedMethods): Hex {
  // A call without data.
  if (signature === '') return '0x';
  const method = methods.get(signature);
  if (method !== undefined) return method.selector;
  throw new ExpressionError(
    `no registered contract has the method "${signature}"; it is written with full types and no names, such as mint(address,uint256)`,
    start,
  );
}

const maxShownLength = 80;

function describeValue(value: string | bigint | boolean): string {
  const text = String(value);
  return `it is ${text.length > maxShownLength ? `${text.slice(0, maxShownLength)}…` : text}`;
}
