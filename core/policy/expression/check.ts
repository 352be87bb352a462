import type { BinaryOperator } from '@marcbachmann/cel-js';
import { parseDecimal } from '../../units/wei.js';
import { readLength, placeOfElement } from './abi-values.js';
import { EvaluationError, ExpressionError } from './expression-error.js';
import { checkElement, checkMember, roots, checkSize, typedValue } from './members.js';
import type { NamedMethods } from '../methods/methods.js';
import { calculate, equal, isArithmetic, isOrder, order, within } from './operators.js';
import type { Syntax } from './parse.js';
import {
  constant,
  countSteps,
  maxElements,
  typeName,
  type Bool,
  type Int,
  type CallMethods,
  type Read,
  type Run,
  type Typed,
} from './typed.js';

/** What a part of an expression may name. */
export type Scope = {
  readonly text: string;
  readonly methods: NamedMethods;
  /** Calls whose method is known here, because a condition before it says so. */
  readonly known: CallMethods;
  /** The variable of the macro around it. */
  readonly variable?: { readonly name: string; readonly typed: Typed };
};

type Of<K extends Syntax['op']> = Extract<Syntax, { readonly op: K }>;

/** The expression as a condition. Throws ExpressionError for whatever has no type or another one. */
export function checkBool(syntax: Syntax, scope: Scope): Bool {
  const typed = check(syntax, scope);
  if (typed.type === 'bool') return typed;
  throw new ExpressionError(`expected a condition, got ${typeName(typed)}`, syntax.start);
}

function check(syntax: Syntax, scope: Scope): Typed {
  switch (syntax.op) {
    case 'value':
      return checkLiteral(syntax);
    case 'id':
      return checkName(syntax, scope);
    case 'list':
      return { type: 'list', items: syntax.args.map((item) => checkItem(item, scope)) };
    case '.': {
      const [of, name] = syntax.args;
      return checkMember(check(of, scope), name, scope.known, syntax.pos);
    }
    case '[]': {
      const [of, index] = syntax.args;
      return checkElement(check(of, scope), checkInt(index, scope), wholeNumber(index), index.start);
    }
    case 'call':
    case 'rcall':
      return checkCall(syntax, scope);
    case '!_':
      return not(checkBool(syntax.args, scope));
    case '-_':
      return negative(checkInt(syntax.args, scope));
    case '&&':
      return and(syntax, scope);
    case '||':
      return or(syntax, scope);
    case '?:':
      return checkConditional(syntax, scope);
    case 'map':
    case '.?':
    case '[?]':
      throw new ExpressionError('maps and optional values are not known here', syntax.start);
    default:
      return checkBinary(syntax, scope);
  }
}

function checkItem(syntax: Syntax, scope: Scope) {
  return { typed: check(syntax, scope), start: syntax.start };
}

function checkInt(syntax: Syntax, scope: Scope): Int {
  const typed = check(syntax, scope);
  if (typed.type === 'int') return typed;
  throw new ExpressionError(`expected a whole number, got ${typeName(typed)}`, syntax.start);
}

function checkName({ args: name, start }: Of<'id'>, { variable }: Scope): Typed {
  const typed = variable?.name === name ? variable.typed : roots.get(name);
  if (typed !== undefined) return typed;
  throw new ExpressionError(`"${name}" is not known; known: ${[...roots.keys()].join(', ')}`, start);
}

function checkLiteral({ args: value, input, start, end }: Of<'value'>): Typed {
  if (typeof value === 'bigint') return checkNumber(value, start);
  if (typeof value === 'string') return { type: 'text', text: value };
  if (typeof value === 'boolean') return { type: 'bool', read: () => value };
  throw new ExpressionError(
    `a number is a whole number, got ${input.slice(start, end)}; amounts are written as amount("1.5", 18)`,
    start,
  );
}

function wholeNumber(syntax: Syntax | undefined): bigint | undefined {
  return syntax?.op === 'value' && typeof syntax.args === 'bigint' ? syntax.args : undefined;
}

function checkNumber(value: bigint, start: number): Int {
  if (value >> 256n === 0n) return constant(value);
  throw new ExpressionError('a number has at most 256 bits', start);
}

const macros = ['all', 'exists', 'exists_one'] as const;
type Macro = (typeof macros)[number];

function checkCall(syntax: Of<'call' | 'rcall'>, scope: Scope): Typed {
  const { start } = syntax;
  const [name, args] = syntax.op === 'call' ? syntax.args : [syntax.args[0], syntax.args[2]];
  const of = syntax.op === 'call' ? undefined : syntax.args[1];
  const macro = macros.find((each) => each === name);
  if (of !== undefined && macro !== undefined)
    return checkMacro(macro, check(of, scope), { args, start }, scope);
  const [only, ...others] = of === undefined ? args : [of, ...args];
  if (name === 'size' && only !== undefined && others.length === 0)
    return checkSize(check(only, scope), start);
  if (name === 'amount' && of === undefined) return checkAmount(args, start);
  throw new ExpressionError(
    `"${name}" cannot be called here; known: amount(text, decimals), size(x), x.${macros.join(', x.')}`,
    start,
  );
}

/** More decimals than any token has: 10^77 is below 2^256. */
const maxDecimals = 77n;

function checkAmount([text, decimals, ...others]: readonly Syntax[], start: number): Int {
  const places = wholeNumber(decimals);
  const isText = text?.op === 'value' && typeof text.args === 'string';
  if (!isText || places === undefined || places > maxDecimals || others.length > 0)
    throw new ExpressionError('expected a text and its decimals, such as amount("1.5", 18)', start);
  try {
    return checkNumber(parseDecimal(String(text.args), Number(places)), start);
  } catch (error) {
    if (error instanceof RangeError) throw new ExpressionError(error.message, text.start);
    throw error;
  }
}

/** `of.all(variable, body)` and its relatives, over the calls or over an array of the ABI. */
function checkMacro(
  macro: Macro,
  of: Typed,
  { args, start }: { readonly args: readonly Syntax[]; readonly start: number },
  scope: Scope,
): Bool {
  const [variable, body, ...others] = args;
  if (variable?.op !== 'id' || body === undefined || others.length > 0)
    throw new ExpressionError(`expected a name and a condition, such as ${macro}(c, c.value == 0)`, start);
  if (scope.variable !== undefined)
    throw new ExpressionError(`"${macro}" cannot stand inside another one`, start);
  const name = variable.args;
  if (roots.has(name)) throw new ExpressionError(`"${name}" has a meaning already`, variable.start);
  const { typed, count, enter } = checkElements(of, name, start);
  const holds = checkBool(body, { ...scope, variable: { name, typed } });

  /** The first element, from `from`, for which the body has the wanted value; else undefined. */
  const find = (run: Run, wanted: boolean, from = 0): number | undefined => {
    const length = count(run);
    if (length > maxElements)
      throw new EvaluationError(`"${macro}" goes through at most ${maxElements} elements, not ${length}`);
    for (let index = from; index < length; index += 1) {
      run.step();
      enter(run, index);
      if (holds.read(run) === wanted) return index;
    }
    return undefined;
  };
  if (macro === 'exists') return { type: 'bool', read: (run) => find(run, true) !== undefined };
  if (macro === 'exists_one')
    return {
      type: 'bool',
      read: (run) => {
        const first = find(run, true);
        return first !== undefined && find(run, true, first + 1) === undefined;
      },
    };
  return {
    type: 'bool',
    read: (run) => find(run, false) === undefined,
    why: (run) => {
      const index = find(run, false);
      return `${of.type === 'calls' ? 'call' : 'element'} ${index}: ${whyFalse(holds, body, scope, run)}`;
    },
  };
}

/** What a macro goes through. `enter` makes an element the value of the variable. */
type Elements = {
  readonly typed: Typed;
  readonly count: Read<number>;
  readonly enter: (run: Run, index: number) => void;
};

function checkElements(of: Typed, name: string, start: number): Elements {
  if (of.type === 'calls')
    return {
      typed: { type: 'call', read: (run) => run.element.call!, path: name },
      count: (run) => run.calls().length,
      enter: (run, index) => {
        run.element.call = run.calls()[index];
      },
    };
  if (of.type !== 'abi' || of.abi.kind !== 'array')
    throw new ExpressionError(`${typeName(of)} has no elements to go through`, start);
  const { abi, read } = of;
  return {
    typed: typedValue(abi.of, (run) => run.element.located!),
    count: (run) => {
      const { bytes, place } = read(run);
      return readLength(bytes, abi, place);
    },
    enter: (run, index) => {
      const { bytes, place } = read(run);
      run.element.located = { bytes, place: placeOfElement(bytes, abi, place, BigInt(index)) ?? place };
    },
  };
}

function checkBinary(syntax: Of<BinaryOperator>, scope: Scope): Typed {
  const { op: operator, start, end } = syntax;
  const [left, right] = syntax.args;
  const text = scope.text.slice(start, end);
  if (isArithmetic(operator)) return calculate(operator, checkInt(left, scope), checkInt(right, scope));
  if (isOrder(operator)) return order(operator, checkInt(left, scope), checkInt(right, scope), text);
  const one = checkItem(left, scope);
  const other = checkItem(right, scope);
  const context = { isNot: operator === '!=', text, methods: scope.methods };
  if (operator !== 'in')
    // A literal may stand on the left.
    return one.typed.type === 'text' ? equal(other, [one], context) : equal(one, [other], context);
  if (other.typed.type === 'list') return equal(one, other.typed.items, context);
  throw new ExpressionError('expected a list such as [1, 2] after "in"', right.start);
}

/**
 * Conditions are evaluated from left to right, and an error is an error. In CEL the value of one side can hide an error of
 * the other; here the method that the left side has checked is known on the right.
 */
function and({ args: [left, right] }: Of<'&&'>, scope: Scope): Bool {
  const one = checkBool(left, scope);
  const other = checkBool(right, { ...scope, known: union(scope.known, one.whenTrue) });
  return {
    type: 'bool',
    read: countSteps((run) => one.read(run) && other.read(run)),
    whenTrue: union(one.whenTrue, other.whenTrue),
    why: (run) => (one.read(run) ? whyFalse(other, right, scope, run) : whyFalse(one, left, scope, run)),
  };
}

function or({ args: [left, right] }: Of<'||'>, scope: Scope): Bool {
  const one = checkBool(left, scope);
  const other = checkBool(right, { ...scope, known: union(scope.known, one.whenFalse) });
  return {
    type: 'bool',
    read: countSteps((run) => one.read(run) || other.read(run)),
    whenFalse: union(one.whenFalse, other.whenFalse),
    why: (run) => `${whyFalse(one, left, scope, run)}; ${whyFalse(other, right, scope, run)}`,
  };
}

function checkConditional({ args: [test, yes, no] }: Of<'?:'>, scope: Scope): Typed {
  const condition = checkBool(test, scope);
  const one = check(yes, { ...scope, known: union(scope.known, condition.whenTrue) });
  const other = check(no, { ...scope, known: union(scope.known, condition.whenFalse) });
  const choose = <T>(a: Read<T>, b: Read<T>): Read<T> =>
    countSteps((run) => (condition.read(run) ? a(run) : b(run)));
  if (one.type === 'bool' && other.type === 'bool')
    return { type: 'bool', read: choose(one.read, other.read) };
  if (one.type === 'int' && other.type === 'int') return { type: 'int', read: choose(one.read, other.read) };
  throw new ExpressionError('both results of "? :" must be conditions, or whole numbers', yes.start);
}

/** Why a part is false: what it says itself, else its text. */
export function whyFalse({ why }: Bool, { start, end }: Syntax, { text }: Scope, run: Run): string {
  run.step();
  return why === undefined ? `${text.slice(start, end)} is false` : why(run);
}

function not({ read, whenTrue, whenFalse }: Bool): Bool {
  return {
    type: 'bool',
    read: countSteps((run) => !read(run)),
    ...(whenFalse === undefined ? {} : { whenTrue: whenFalse }),
    ...(whenTrue === undefined ? {} : { whenFalse: whenTrue }),
  };
}

function negative({ read }: Int): Int {
  return { type: 'int', read: countSteps((run) => within(-read(run))) };
}

const none: CallMethods = new Map();

function union(one: CallMethods = none, other: CallMethods = none): CallMethods {
  return other.size === 0 ? one : new Map([...one, ...other]);
}
