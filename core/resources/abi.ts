import { keccak256 } from '../crypto/keccak.js';
import { invalidInput, isDomainError, quote, type Problem } from '../errors.js';
import { atOnce, type InParts } from '../units/in-parts.js';
import {
  canonicalSignature,
  canonicalWord,
  maxSignatureLength,
  maxTypeDepth,
  splitType,
  type TypeFault,
} from './abi-signature.js';

/** First four bytes of a call: 0x and 8 lowercase hex digits. */
export type Selector = `0x${string}`;

type AbiFunction = {
  readonly name: string;
  /** Canonical form such as `mint(address,uint256)`. */
  readonly signature: string;
  /** The signature with the names of the parameters that have one: `mint(address to,uint256)`. */
  readonly declaration: string;
  readonly selector: Selector;
  /** False for views and pure functions. */
  readonly stateChanging: boolean;
};

/** The most methods that the status of a contract can list. */
export const maxFunctions = 5000;
export const maxNameLength = 512;

/** A function with a type of the ABI specification, or of a library, whose values are not read: `function`, `fixed`, `Lib.Kind`. */
type UnreadFunction = { readonly name: string; readonly unread: string };

/** The functions of an ABI in the same order; constructors, events and errors are left out. */
type ParsedAbi = {
  readonly functions: readonly AbiFunction[];
  readonly unread: readonly UnreadFunction[];
};

type Whitelist = {
  /** Each selector once, in the order of the whitelist. */
  readonly selectors: readonly Selector[];
  /** One per whitelist entry that the ABI lacks, naming the methods that the ABI has; the first ten. */
  readonly problems: readonly Problem[];
};

/** The result of reading a contract's ABI and whitelist. With problems it has no selectors. */
export type ContractMethods = {
  /** Names of the state-changing functions of the ABI; empty when the ABI does not parse. */
  readonly methods: readonly string[];
  /** Every function of the ABI with the names of its parameters: `mint(address to,uint256)`. */
  readonly declarations: readonly string[];
  readonly selectors: readonly Selector[];
  /** A sentence about functions that were left out; absent: none was. */
  readonly warning?: string;
  /** Fields relative to the spec: `abi[3]`, `whitelistedMethods[0]`. */
  readonly problems: readonly Problem[];
};

/**
 * Reads the ABI and whitelist of a contract. Pure, never throws for any text, and takes time linear in their length.
 */
export function readMethods(abiText: string, whitelistedMethods: readonly string[]): ContractMethods {
  return atOnce(readMethodsInParts(abiText, whitelistedMethods));
}

/** The same in parts: an ABI of the longest text takes tens of milliseconds. */
export function* readMethodsInParts(
  abiText: string,
  whitelistedMethods: readonly string[],
): InParts<ContractMethods> {
  try {
    const abi = yield* parseAbiInParts(abiText);
    const { selectors, problems } = listSelectors(abi, whitelistedMethods);
    return {
      methods: listMethods(abi),
      declarations: abi.functions.map(({ declaration }) => declaration),
      selectors: problems.length === 0 ? selectors : [],
      ...(abi.unread.length === 0 ? {} : { warning: leftOut(abi.unread) }),
      problems,
    };
  } catch (error) {
    if (!isDomainError(error, 'INVALID_INPUT')) throw error;
    return { methods: [], declarations: [], selectors: [], problems: error.details.problems ?? [] };
  }
}

/**
 * Parses the JSON text of a contract's ABI: an array of entries as compilers print it, also in the old form with
 * `constant` and `payable`. Throws DomainError INVALID_INPUT, which names each wrong entry as `abi[3]`.
 */
export function parseAbi(text: string): ParsedAbi {
  return atOnce(parseAbiInParts(text));
}

/** The same in parts. */
export function* parseAbiInParts(text: string): InParts<ParsedAbi> {
  const entries = parseEntries(text);
  const problems: Problem[] = [];
  const functions: AbiFunction[] = [];
  const unread: UnreadFunction[] = [];
  for (const [index, entry] of entries.entries()) {
    yield;
    const parsed = parseEntry(entry, `abi[${index}]`);
    if (parsed === undefined) continue;
    if ('expected' in parsed) problems.push(parsed);
    else if ('unread' in parsed) unread.push(parsed);
    else functions.push(parsed);
    if (functions.length + unread.length > maxFunctions)
      problems.push({ field: 'abi', expected: `one of at most ${maxFunctions} functions` });
    // The rest would change nothing, and a text of the longest kind may have ninety thousand wrong entries.
    if (problems.length === maxProblems || functions.length + unread.length > maxFunctions) break;
  }
  if (problems.length > 0) throw invalidInput(problems);
  return { functions, unread };
}

/** Names of the state-changing functions, each once, in the order of the ABI: `methods` of the API. */
export function listMethods(abi: ParsedAbi): readonly string[] {
  return [...new Set(abi.functions.filter((f) => f.stateChanging).map((f) => f.name))];
}

/**
 * Selectors that a whitelist permits. A name means all its overloads, a full signature (`mint(address)`) exactly one.
 * A view may be named too: an operation that calls a view next to other calls should still be sponsored.
 */
export function listSelectors(abi: ParsedAbi, whitelistedMethods: readonly string[]): Whitelist {
  const byName = Map.groupBy(abi.functions, ({ name }) => name);
  const bySignature = Map.groupBy(abi.functions, ({ signature }) => signature);
  const unread = new Map(abi.unread.map((left) => [left.name, left.unread]));
  const selectors = new Set<Selector>();
  const problems: Problem[] = [];
  const seen = new Set<string>();
  let known: string | undefined;
  for (const [index, method] of whitelistedMethods.entries()) {
    // An entry that is repeated a thousand times is looked up once: it could name five thousand overloads.
    if (seen.has(method)) continue;
    seen.add(method);
    const field = `whitelistedMethods[${index}]`;
    const read = method.includes('(') ? canonicalSignature(method) : undefined;
    if (read !== undefined && 'fault' in read && read.fault === 'too-deep') {
      if (problems.length < maxProblems) problems.push({ field, expected: readable, value: quote(method) });
      continue;
    }
    const signature = read !== undefined && 'signature' in read ? read.signature : undefined;
    const found = read === undefined ? byName.get(method) : bySignature.get(signature ?? '');
    // A name stands for all its overloads. If one of them is not read, the owner would get less than he asked for.
    const type =
      read === undefined || found === undefined ? unread.get(method.split('(', 1)[0]!.trim()) : undefined;
    if ((found === undefined || type !== undefined) && problems.length < maxProblems)
      problems.push({
        field,
        expected:
          type === undefined
            ? (known ??= describeMethods(abi))
            : `a method whose types are read, not ${type}`,
        value: quote(method),
      });
    for (const { selector } of found ?? []) selectors.add(selector);
  }
  return { selectors: [...selectors], problems };
}

const readable = `a signature of at most ${maxSignatureLength} characters with at most ${maxTypeDepth} levels of tuples and array dimensions`;

// A wrong file pasted as an ABI would repeat one mistake hundreds of times, and the message of a condition is
// bounded.
const maxProblems = 10;
const maxShownNames = 500;

function parseEntries(text: string): readonly unknown[] {
  const expected = 'the JSON text of an ABI, an array of entries';
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw invalidInput({ field: 'abi', expected, value: quote(text) });
  }
  if (!Array.isArray(value)) throw invalidInput({ field: 'abi', expected, value: quote(value) });
  return value;
}

function parseEntry(entry: unknown, field: string): AbiFunction | UnreadFunction | Problem | undefined {
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry))
    return { field, expected: 'an object', value: quote(entry) };
  // The ABI specification allows leaving out `type`; its value is then "function".
  const type: unknown = 'type' in entry ? entry.type : 'function';
  if (typeof type !== 'string') return { field: `${field}.type`, expected: 'a string', value: quote(type) };
  if (type !== 'function') return undefined;
  const problem = (fault: TypeFault): Problem => ({
    field,
    expected: fault === 'too-deep' ? shallowFunction : soundFunction,
    value: quote(entry),
  });
  if (!('name' in entry) || typeof entry.name !== 'string' || !namePattern.test(entry.name))
    return problem('malformed');
  const inputs = 'inputs' in entry && entry.inputs !== null ? entry.inputs : [];
  const parts: string[] = [];
  const fault = entry.name.length > maxNameLength ? 'malformed' : collectTypes(inputs, parts, 0);
  if (fault === undefined) return describe(entry.name, parts, entry);
  return typeof fault === 'string' ? problem(fault) : { name: entry.name, ...fault };
}

const soundFunction = `a function with a name of at most ${maxNameLength} characters and inputs of valid types`;
const shallowFunction = `a function whose inputs have at most ${maxTypeDepth} levels of tuples and array dimensions`;
const namePattern = /^[A-Za-z_$][A-Za-z0-9_$]*$/;

/** A longer name of a parameter is left out: only people read it. */
const maxParameterName = 64;

/**
 * Adds the canonical text of a list of parameters to `out`, piece by piece: one join per level would copy the text
 * once per level. A name is a separate piece that begins with a space.
 */
function collectTypes(parameters: unknown, out: string[], depth: number): Fault | undefined {
  if (!Array.isArray(parameters)) return 'malformed';
  if (depth > maxTypeDepth) return 'too-deep';
  out.push('(');
  for (const [index, parameter] of parameters.entries()) {
    if (index > 0) out.push(',');
    const fault = collectType(parameter, out, depth);
    if (fault !== undefined) return fault;
  }
  out.push(')');
  return undefined;
}

type Fault = TypeFault | Pick<UnreadFunction, 'unread'>;

/** Of the ABI specification, of libraries (`Lib.Kind`, `Lib.Data storage`), and names of types that a contract has made. */
const unreadType =
  /^(?:function|u?fixed(?:[0-9]{1,3}x[0-9]{1,2})?|[A-Z$_][\w$]{0,63}(?:\.[A-Za-z$_][\w$]{0,63})*(?: storage)?)$/;

function collectType(parameter: unknown, out: string[], depth: number): Fault | undefined {
  if (typeof parameter !== 'object' || parameter === null) return 'malformed';
  if (!('type' in parameter) || typeof parameter.type !== 'string') return 'malformed';
  const type = splitType(parameter.type);
  if ('fault' in type) return type.fault;
  if (type.word === 'tuple') {
    const fault = collectTypes('components' in parameter ? parameter.components : undefined, out, depth + 1);
    if (fault !== undefined) return fault;
  } else {
    const word = canonicalWord(type.word);
    if (word === undefined) return unreadType.test(type.word) ? { unread: type.word } : 'malformed';
    out.push(word);
  }
  out.push(type.dimensions);
  const name = 'name' in parameter ? parameter.name : undefined;
  if (typeof name === 'string' && name.length <= maxParameterName && namePattern.test(name))
    out.push(` ${name}`);
  return undefined;
}

function describe(name: string, parts: readonly string[], entry: object): AbiFunction {
  const signature = name + parts.filter((part) => !part.startsWith(' ')).join('');
  const digest = Buffer.from(keccak256(Buffer.from(signature)));
  return {
    name,
    signature,
    declaration: name + parts.join(''),
    selector: `0x${digest.toString('hex', 0, 4)}`,
    stateChanging: isStateChanging(entry),
  };
}

/** Compilers before 0.5 wrote `constant` instead of `stateMutability`. */
function isStateChanging(entry: object): boolean {
  if ('stateMutability' in entry && entry.stateMutability !== null)
    return entry.stateMutability !== 'view' && entry.stateMutability !== 'pure';
  return !('constant' in entry && entry.constant === true);
}

function leftOut(unread: readonly UnreadFunction[]): string {
  const some = unread.slice(0, maxShownLeftOut).map(({ name, unread: type }) => `${name} takes ${type}`);
  const more = unread.length > some.length ? `, and ${unread.length - some.length} more` : '';
  return `abi: functions with types that are not read were left out: ${some.join(', ')}${more}`;
}

const maxShownLeftOut = 5;

function describeMethods(abi: ParsedAbi): string {
  const names = listMethods(abi);
  const some = names.slice(0, 30).join(', ') + (names.length > 30 ? ', …' : '');
  const shown = some.length > maxShownNames ? `${some.slice(0, maxShownNames)}…` : some;
  return names.length === 0
    ? 'empty: the ABI has no state-changing method'
    : `a method of the ABI (${shown})`;
}
