import { finding, type Finding } from '../meta/conditions.js';
import { keccak256 } from '../crypto/keccak.js';
import { choice, list, object, text, type Infer } from '../schema/structural.js';
import { bytesToHex, type Hex } from '../units/hex.js';
import {
  accountFunctions,
  shapeArguments,
  type AccountFunctions,
  type AddedShape,
} from './account-functions.js';

const shapes = Object.keys(shapeArguments) as AddedShape[];

/** The rule compares the arguments of a signature with those of its shape. */
const row = object(
  'One function.',
  {
    required: {
      signature: text(
        'Its name and the types of its arguments, e.g. execFromEntryPoint(address,uint256,bytes).',
        {
          maxLength: 120,
          pattern: '^[A-Za-z_$][A-Za-z0-9_$]{0,63}\\([a-z0-9,()\\[\\]]{1,50}\\)$',
          expected: 'a name and types without blanks, e.g. execFromEntryPoint(address,uint256,bytes)',
        },
      ),
      shape: choice(
        `How its arguments lay out the calls: ${shapes.map((shape) => `${shape} is ${shapeArguments[shape]}`).join(', ')}.`,
        shapes,
      ),
    },
  },
  {
    rule: `self.signature == self.signature.split('(')[0] + {${shapes.map((shape) => `'${shape}': '${shapeArguments[shape]}'`).join(', ')}}[self.shape]`,
    message:
      'must be a function whose arguments fit the shape, e.g. execFromEntryPoint(address,uint256,bytes) for call',
    fieldPath: '.signature',
  },
);

/** A row of `spec.accountFunctions` of a Paymaster or a Chain. */
export type AccountFunctionSpec = Infer<typeof row>;

/** Rows beside the built-in ones. */
export const functionRows = (description: string) => list(description, row, { maxItems: 20 });

/** A row as it is served. */
export type AddedFunction = AccountFunctionSpec & { readonly selector: Hex };

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
    const selector = hashSelector(signature);
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

function hashSelector(signature: string): Hex {
  return bytesToHex(keccak256(Buffer.from(signature, 'latin1')).subarray(0, 4));
}
