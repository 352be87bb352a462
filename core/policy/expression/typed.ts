import type { AddressKey } from '../../units/address.js';
import type { OperationCost } from '../../usage/unit.js';
import type { DecodedHex, Hex } from '../../units/hex.js';
import type { Call } from '../../userop/call.js';
import type { AbiType } from '../methods/abi-type.js';
import type { CallBytes, Place } from './abi-values.js';
import { maxSteps, type StepsLeft } from '../steps-left.js';
import { EvaluationError } from './expression-error.js';
import type { NamedMethod } from '../methods/methods.js';

/** What an expression can know about an operation. */
export type ExpressionFacts = {
  readonly sender: AddressKey;
  readonly chainId: number;
  readonly nowSeconds: number;
  /** Undefined when callData does not decode. */
  readonly calls: readonly Call[] | undefined;
  /** The call data in which the calls are. */
  readonly callData: DecodedHex;
  /** Undefined until the gas limits are known. */
  readonly cost: OperationCost | undefined;
};

/** An operation with more calls is refused, and so is one with more elements in an array that an expression goes through. */
export const maxElements = 64;

/** A number that is read or calculated is several steps, because it takes as long. */
export const stepsOfNumber = 6;

/** One evaluation: the facts, the work that is left, and the element that a macro is at. */
export class Run {
  readonly facts: ExpressionFacts;
  readonly #left: StepsLeft;
  /** What the variable of a macro stands for. Macros do not nest, so there is one. */
  readonly element: { call?: Call | undefined; located?: Located } = {};

  constructor(facts: ExpressionFacts, left: StepsLeft) {
    this.facts = facts;
    this.#left = left;
  }

  step(count = 1): void {
    if (count > this.#left.steps)
      throw new EvaluationError(
        `the expressions of the paymaster are too much work for this operation: together they may take ${maxSteps} steps`,
      );
    this.#left.steps -= count;
  }

  calls(): readonly Call[] {
    const { calls } = this.facts;
    if (calls === undefined) throw new EvaluationError('callData does not decode as calls');
    return calls;
  }
}

/** A value in a call's data. */
export type Located = { readonly bytes: CallBytes; readonly place: Place };

export type Read<T> = (run: Run) => T;

/** Calls whose method is known, by the text with which the expression names the call: `c` or `calls[0]`. */
export type CallMethods = ReadonlyMap<string, NamedMethod>;

export type Bool = {
  readonly type: 'bool';
  readonly read: Read<boolean>;
  /** What is known where it is true, and where it is false. */
  readonly whenTrue?: CallMethods;
  readonly whenFalse?: CallMethods;
  /** Why it is false; absent: it says so itself. */
  readonly why?: Read<string>;
};
export type Int = { readonly type: 'int'; readonly read: Read<bigint> };
/** Lowercase hex, also of a string, which is compared by its bytes. `size` of a type such as `bytes32`. */
export type Bytes = {
  readonly type: 'address' | 'bytes' | 'string';
  readonly read: Read<Hex>;
  readonly size?: number;
  /** Number of bytes, found without reading them; absent for a type of fixed size. */
  readonly length?: Read<number>;
};
/** The first four bytes of a call's data. `path`: the text that names the call, if it always names the same. */
export type Method = {
  readonly type: 'method';
  readonly read: Read<Hex>;
  readonly path: string | undefined;
};

/** An expression that was checked, in a form that is evaluated. */
export type Typed =
  | Bool
  | Int
  | Bytes
  | Method
  /** A text as it is written; what it is compared with gives it a type. */
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'list'; readonly items: readonly Item[] }
  | { readonly type: 'calls' }
  | { readonly type: 'call'; readonly read: Read<Call>; readonly path: string | undefined }
  /** An array or a tuple of the ABI. */
  | {
      readonly type: 'abi';
      readonly abi: Extract<AbiType, { readonly kind: 'array' | 'tuple' }>;
      readonly read: Read<Located>;
    }
  | { readonly type: 'cost' };

/** Counts a part of an expression as work. */
export function countSteps<T>(read: Read<T>, steps = 1): Read<T> {
  return (run) => {
    run.step(steps);
    return read(run);
  };
}

export function constant(value: bigint): Int {
  return { type: 'int', read: () => value };
}

export type Item = { readonly typed: Typed; readonly start: number };

/** The name of a type, for messages. */
export function typeName(typed: Typed): string {
  switch (typed.type) {
    case 'bool':
      return 'a bool';
    case 'int':
      return 'a whole number';
    case 'address':
      return 'an address';
    case 'bytes':
      return typed.size === undefined ? 'bytes' : `bytes${typed.size}`;
    case 'string':
    case 'text':
      return 'a text';
    case 'method':
      return 'a method';
    case 'list':
      return 'a list';
    case 'calls':
      return 'the calls';
    case 'call':
      return 'a call';
    case 'abi':
      return typed.abi.kind === 'array' ? 'an array' : 'a tuple';
    case 'cost':
      return 'the cost';
    default:
      return typed satisfies never;
  }
}
