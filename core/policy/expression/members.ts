import { microDollars } from '../../pricing/rate.js';
import type { OperationCost } from '../../usage/unit.js';
import type { AbiType } from '../methods/abi-type.js';
import {
  addressAt,
  boolAt,
  bytesAt,
  fixedBytesAt,
  integerAt,
  readLength,
  placeOfElement,
  placeOfField,
  type Place,
} from './abi-values.js';
import { EvaluationError, ExpressionError } from './expression-error.js';
import {
  countSteps,
  stepsOfNumber,
  typeName,
  type Int,
  type CallMethods,
  type Located,
  type Read,
  type Typed,
} from './typed.js';

type CallExpression = Extract<Typed, { readonly type: 'call' }>;
type Abi<K extends 'tuple' | 'array'> = Extract<AbiType, { readonly kind: K }>;

/** What an expression may name, besides the variable of a macro. */
export const roots: ReadonlyMap<string, Typed> = new Map<string, Typed>([
  ['calls', { type: 'calls' }],
  ['cost', { type: 'cost' }],
  ['sender', { type: 'address', read: ({ facts }) => facts.sender }],
  ['chain', { type: 'int', read: countSteps(({ facts }) => BigInt(facts.chainId)) }],
  ['now', { type: 'int', read: countSteps(({ facts }) => BigInt(facts.nowSeconds)) }],
]);

/** `of.name`, which is at `at`. Throws ExpressionError. */
export function checkMember(of: Typed, name: string, known: CallMethods, at: number): Typed {
  if (of.type === 'call') return memberOfCall(of, name, known, at);
  if (of.type === 'cost') return memberOfCost(name, at);
  if (of.type !== 'abi' || of.abi.kind !== 'tuple')
    throw new ExpressionError(`${typeName(of)} has no members`, at);
  const { fields } = of.abi;
  const index = fields.findIndex((field) => field.name === name);
  const isTwice = fields.findLastIndex((field) => field.name === name) !== index;
  if (index >= 0 && !isTwice) return typedField(of.abi, index, of.read);
  // Not named by the ABI, or differently by two contracts.
  throw unknownMember(
    name,
    'this',
    fields.map((field, each) => field.name || `[${each}]`),
    at,
  );
}

/** `of[index]`; `literal`: the index, where it is written as a number. Throws ExpressionError. */
export function checkElement(of: Typed, index: Int, literal: bigint | undefined, at: number): Typed {
  if (of.type === 'calls')
    return {
      type: 'call',
      read: countSteps((run) => {
        const position = index.read(run);
        return (
          (position < 0n ? undefined : run.calls()[Number(position)]) ??
          missing(`no call has the index ${position}`)
        );
      }),
      path: literal === undefined ? undefined : `calls[${literal}]`,
    };
  if (of.type !== 'abi') throw new ExpressionError(`${typeName(of)} has no elements`, at);
  const { abi, read } = of;
  if (abi.kind === 'array')
    return typedValue(abi.of, (run) => {
      const { bytes, place } = read(run);
      const position = index.read(run);
      const found = placeOfElement(bytes, abi, place, position);
      return { bytes, place: found ?? missing(`no element has the index ${position}`) };
    });
  if (literal === undefined || literal >= BigInt(abi.fields.length))
    throw new ExpressionError(`expected a number below ${abi.fields.length}, as it is written`, at);
  return typedField(abi, Number(literal), read);
}

/** `size(of)`. Throws ExpressionError. */
export function checkSize(of: Typed, at: number): Int {
  if (of.type === 'calls') return { type: 'int', read: countSteps((run) => BigInt(run.calls().length)) };
  if (of.type === 'bytes' && of.length !== undefined) {
    const { length } = of;
    return { type: 'int', read: countSteps((run) => BigInt(length(run))) };
  }
  if (of.type === 'abi' && of.abi.kind === 'array') {
    const { abi, read } = of;
    return { type: 'int', read: located(read, (bytes, place) => BigInt(readLength(bytes, abi, place))) };
  }
  throw new ExpressionError(`${typeName(of)} has no size`, at);
}

/** The value of a type of the ABI where `read` finds it. */
export function typedValue(abi: AbiType, read: Read<Located>): Typed {
  switch (abi.kind) {
    case 'integer':
      return {
        type: 'int',
        read: located(read, (bytes, place) => integerAt(bytes, abi, place), stepsOfNumber),
      };
    case 'bool':
      return { type: 'bool', read: located(read, boolAt) };
    case 'address':
      return { type: 'address', read: located(read, addressAt) };
    case 'fixedBytes': {
      const { size } = abi;
      return { type: 'bytes', size, read: located(read, (bytes, place) => fixedBytesAt(bytes, size, place)) };
    }
    case 'bytes':
    case 'string': {
      const length = located(read, (bytes, place) => readLength(bytes, abi, place));
      return {
        type: abi.kind,
        length,
        read: (run) => {
          run.step(Math.ceil(length(run) / 16));
          const { bytes, place } = read(run);
          return bytesAt(bytes, abi, place);
        },
      };
    }
    case 'array':
    case 'tuple':
      return { type: 'abi', abi, read: countSteps(read) };
    default:
      return abi satisfies never;
  }
}

function memberOfCost(name: string, at: number): Int {
  const cost: Read<OperationCost> = ({ facts }) => facts.cost ?? missing('the cost is not known');
  if (name === 'native') return { type: 'int', read: countSteps((run) => cost(run).wei) };
  if (name !== 'usd') throw unknownMember(name, 'the cost', ['native', 'usd'], at);
  return {
    type: 'int',
    read: countSteps((run) => {
      const { wei, usdPerNative } = cost(run);
      return microDollars(wei, usdPerNative ?? missing('the coin has no price now'));
    }, stepsOfNumber),
  };
}

function memberOfCall({ read, path }: CallExpression, name: string, known: CallMethods, at: number): Typed {
  if (name === 'target') return { type: 'address', read: countSteps((run) => read(run).target) };
  if (name === 'value') return { type: 'int', read: countSteps((run) => read(run).value) };
  if (name === 'method') return { type: 'method', read: countSteps((run) => read(run).selector), path };
  if (name !== 'args') throw unknownMember(name, 'a call', ['target', 'value', 'method', 'args'], at);
  const method = path === undefined ? undefined : known.get(path);
  if (method === undefined) {
    const call = path ?? 'the call';
    throw new ExpressionError(
      `the method of ${call} is not known here: write ${call}.method == "name(types)" && … before it`,
      at,
    );
  }
  return {
    type: 'abi',
    // They begin behind the selector, where no offset points to.
    abi: { ...method.args, dynamic: false },
    read: countSteps((run) => {
      const { start, end } = read(run).data;
      return {
        bytes: { source: run.facts.callData, end },
        place: { at: start + selectorBytes, base: start + selectorBytes },
      };
    }),
  };
}

const selectorBytes = 4;

function typedField(abi: Abi<'tuple'>, index: number, read: Read<Located>): Typed {
  const field = abi.fields[index]!;
  return typedValue(field.type, (run) => {
    const { bytes, place } = read(run);
    return { bytes, place: placeOfField(bytes, abi, place, field) };
  });
}

function located<T>(
  read: Read<Located>,
  value: (bytes: Located['bytes'], place: Place) => T,
  steps?: number,
): Read<T> {
  return countSteps((run) => {
    const { bytes, place } = read(run);
    return value(bytes, place);
  }, steps);
}

function unknownMember(name: string, of: string, names: readonly string[], at: number): ExpressionError {
  return new ExpressionError(`${of} has no "${name}", only ${names.join(', ') || 'nothing'}`, at);
}

function missing(why: string): never {
  throw new EvaluationError(why);
}
