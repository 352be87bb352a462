import { FunctionFragment } from 'ethers';
import { invalidInput, quote } from '../errors.js';
import type { Problem } from '../errors.js';

/** First four bytes of a call: 0x and 8 lowercase hex digits. */
export type Selector = `0x${string}`;

export type AbiFunction = {
  readonly name: string;
  /** Canonical form such as `mint(address,uint256)`. */
  readonly signature: string;
  readonly selector: Selector;
  /** False for views and pure functions. */
  readonly stateChanging: boolean;
};

/** What the status of a contract can hold: its methods are listed there. */
export const maxFunctions = 5000;
export const maxNameLength = 512;

/** The functions of an ABI in its order; constructors, events and errors are left out. */
export type ParsedAbi = { readonly functions: readonly AbiFunction[] };

export type Whitelist = {
  /** Each once, in the order of the whitelist. */
  readonly selectors: readonly Selector[];
  /** One per entry that the ABI lacks, naming the methods that it has; the first ten. */
  readonly problems: readonly Problem[];
};

/**
 * Parses the JSON text of a contract's ABI: an array of entries as compilers print it, also in the old form with
 * `constant` and `payable`. Throws DomainError INVALID_INPUT that names each wrong entry as `abi[3]`.
 */
export function parseAbi(text: string): ParsedAbi {
  const entries = parseEntries(text);
  const problems: Problem[] = [];
  const functions: AbiFunction[] = [];
  entries.forEach((entry, index) => {
    const parsed = parseEntry(entry, `abi[${index}]`);
    if (parsed === undefined) return;
    if ('expected' in parsed) problems.push(parsed);
    else functions.push(parsed);
  });
  if (functions.length > maxFunctions)
    problems.push({ field: 'abi', expected: `one of at most ${maxFunctions} functions` });
  if (problems.length > 0) throw invalidInput(problems.slice(0, maxProblems));
  return { functions };
}

/** Names of the state-changing functions, each once, in the order of the ABI: `methods` of the API. */
export function methodsOf(abi: ParsedAbi): readonly string[] {
  return [...new Set(abi.functions.filter((f) => f.stateChanging).map((f) => f.name))];
}

/**
 * Selectors that a whitelist stands for. A name means all its overloads, a full signature (`mint(address)`) exactly
 * one. A view may be named too: an operation that calls one next to other calls is still one to sponsor.
 */
export function selectorsOf(abi: ParsedAbi, whitelistedMethods: readonly string[]): Whitelist {
  const selectors = new Set<Selector>();
  const problems: Problem[] = [];
  whitelistedMethods.forEach((method, index) => {
    const found = functionsNamed(abi, method);
    if (found.length === 0 && problems.length < maxProblems)
      problems.push(unknownMethod(abi, method, `whitelistedMethods[${index}]`));
    for (const { selector } of found) selectors.add(selector);
  });
  return { selectors: [...selectors], problems };
}

// A wrong file pasted as ABI would repeat one mistake hundreds of times, in a condition that has a longest message.
const maxProblems = 10;
const maxShownNames = 500;

function parseEntries(text: string): readonly unknown[] {
  const expected = 'the JSON text of an ABI, an array of entries';
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw invalidInput([{ field: 'abi', expected, value: quote(text) }]);
  }
  if (!Array.isArray(value)) throw invalidInput([{ field: 'abi', expected, value: quote(value) }]);
  return value;
}

function parseEntry(entry: unknown, field: string): AbiFunction | Problem | undefined {
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry))
    return { field, expected: 'an object', value: quote(entry) };
  // The ABI specification lets `type` be left out and take the value "function".
  const type: unknown = 'type' in entry ? entry.type : 'function';
  if (typeof type !== 'string') return { field: `${field}.type`, expected: 'a string', value: quote(type) };
  if (type !== 'function') return undefined;
  const expected = `a function with a name of at most ${maxNameLength} characters and inputs of valid types`;
  try {
    // Legacy entries leave `outputs` out when there are none.
    const parsed = describe(FunctionFragment.from({ outputs: [], ...entry, type }));
    return parsed.name.length > maxNameLength ? { field, expected, value: quote(entry) } : parsed;
  } catch {
    return { field, expected, value: quote(entry) };
  }
}

function describe(fragment: FunctionFragment): AbiFunction {
  return {
    name: fragment.name,
    signature: fragment.format('sighash'),
    selector: `0x${fragment.selector.slice(2)}`,
    stateChanging: fragment.stateMutability !== 'view' && fragment.stateMutability !== 'pure',
  };
}

function functionsNamed(abi: ParsedAbi, method: string): readonly AbiFunction[] {
  if (!method.includes('(')) return abi.functions.filter((f) => f.name === method);
  const signature = canonical(method);
  return abi.functions.filter((f) => f.signature === signature);
}

/** `mint( address to, uint )` → `mint(address,uint256)`; undefined when the text is no signature. */
function canonical(signature: string): string | undefined {
  try {
    return FunctionFragment.from(`function ${signature}`).format('sighash');
  } catch {
    return undefined;
  }
}

function unknownMethod(abi: ParsedAbi, method: string, field: string): Problem {
  const names = methodsOf(abi);
  const some = names.slice(0, 30).join(', ') + (names.length > 30 ? ', …' : '');
  const shown = some.length > maxShownNames ? `${some.slice(0, maxShownNames)}…` : some;
  const expected =
    names.length === 0 ? 'empty: the ABI has no state-changing method' : `a method of the ABI (${shown})`;
  return { field, expected, value: quote(method) };
}
