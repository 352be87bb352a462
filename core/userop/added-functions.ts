import { finding, type Finding } from '../meta/conditions.js';
import { keccak256 } from '../crypto/keccak.js';
import { bytesToHex, type Hex } from '../units/hex.js';
import {
  accountFunctions,
  shapeArguments,
  type AccountFunctions,
  type AddedShape,
} from './account-functions.js';

/** A row of `spec.accountFunctions` of a Paymaster or a Chain. */
export type AccountFunctionSpec = {
  /** Such as `execFromEntryPoint(address,uint256,bytes)`. */
  readonly signature: string;
  readonly shape: AddedShape;
};

/** A row as it is served. */
export type AddedFunction = AccountFunctionSpec & { readonly selector: Hex };

export const maxAddedFunctions = 20;

export type AddedFunctions = {
  readonly served: readonly AddedFunction[];
  /** Names the rows that have no effect; undefined when each has one. */
  readonly ignored: Finding | undefined;
};

/**
 * The rows that count. A built-in row wins over one of a spec, also one that comes with a later release; then the Chain's over the
 * Paymaster's, and the first of a list over those after it.
 */
export function compileFunctions(
  rows: readonly AccountFunctionSpec[],
  ofChain: readonly AddedFunction[] = [],
): AddedFunctions {
  const seen = new Map<string, string>(
    ofChain.map(({ selector }) => [selector, 'the Chain has a row for it']),
  );
  const served: AddedFunction[] = [];
  const ignored: string[] = [];
  for (const [index, { signature, shape }] of rows.entries()) {
    const why = fits(signature, shape)
      ? undefined
      : `its arguments must be ${shapeArguments[shape] ?? `those of a shape`} for shape ${shape}`;
    const selector = selectorOf(signature);
    const before = accountFunctions.has(selector) ? 'it is built in' : seen.get(selector);
    const problem = why ?? before;
    if (problem !== undefined) {
      ignored.push(`spec.accountFunctions[${index}] ${signature}: ${problem}`);
      continue;
    }
    seen.set(selector, 'an earlier row has its selector');
    served.push({ selector, signature, shape });
  }
  return {
    served,
    ignored:
      ignored.length === 0 ? undefined : finding('FunctionsIgnored', 'NoEffect', `${ignored.join('; ')}.`),
  };
}

/** By selector, for the way of a request. Undefined: no row. */
export function serveFunctions(rows: readonly AddedFunction[] | undefined): AccountFunctions | undefined {
  if (rows === undefined || rows.length === 0) return undefined;
  return new Map(rows.map(({ selector, signature, shape }) => [selector, { signature, shape }]));
}

function fits(signature: string, shape: AddedShape): boolean {
  return signature.slice(signature.indexOf('(')) === shapeArguments[shape];
}

function selectorOf(signature: string): Hex {
  return bytesToHex(keccak256(Buffer.from(signature, 'latin1')).subarray(0, 4));
}
