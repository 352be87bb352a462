import { describe, expect, test } from '@jest/globals';
import { compileChain } from '../../../core/config/compile-chain.js';
import { compilePaymaster } from '../../../core/config/compile.js';
import { parseFundingMessage } from '../../../core/config/funding.js';
import type { AnyResource, Kind, Resources } from '../../../core/resources/kinds.js';
import { kinds } from '../../../core/resources/kinds.js';
import { definitions } from '../../../core/resources/schemas.js';
import { validateResource } from '../../../core/resources/validate.js';
import type { StructuralSchema } from '../../../core/schema/structural.js';
import {
  aChain,
  aDashboardToken,
  aFeeToken,
  anAbi,
  anOrganisation,
  aPaymaster,
  aPolicy,
  aSmartContract,
} from '../../build/resources.js';
import { someLayouts, someSources } from '../../build/sources.js';
import { growthOf, mostGrowth } from '../../support/work.js';

/** What a tenant or a caller may write is read in time linear in its length: every text of every kind, filled by hand. */

const examples: { readonly [K in Kind]: Resources[K] } = {
  Chain: aChain(),
  FeeToken: aFeeToken(),
  Organisation: anOrganisation(),
  Paymaster: aPaymaster(),
  SmartContract: aSmartContract(),
  PaymasterPolicy: aPolicy(),
  DashboardToken: aDashboardToken(),
};

/** Every step from an object to the served config. */
function judge(object: AnyResource): void {
  validateResource(object.kind, object);
  switch (object.kind) {
    case 'Paymaster':
      compilePaymaster(someSources({ paymaster: object }));
      break;
    case 'SmartContract':
      compilePaymaster(someSources({ contracts: [object] }));
      break;
    case 'PaymasterPolicy':
      compilePaymaster(someSources({ policies: [object] }));
      break;
    case 'Organisation':
      compilePaymaster(someSources({ organisation: object }));
      break;
    case 'Chain':
      compileChain({ chain: object, feeTokens: [], layouts: someLayouts, previous: undefined });
      break;
    case 'FeeToken':
      compileChain({ chain: aChain(), feeTokens: [object], layouts: someLayouts, previous: undefined });
      break;
    case 'DashboardToken':
    // Nothing compiles it.
  }
}

/** What a parser could trip over when it is repeated. */
const prefixes = ['', 'https://a.example/', 'f('];
const fillings = ['(', 'f(', '[]', '"', ' ', '\n', '-', 'a.', '0:', '/', '%', '\u00e9'];

type Field = { readonly path: readonly string[]; readonly maxLength: number };

/** The texts of a schema that are long enough to matter, with the path to each; a list is filled with one. */
function textsOf(schema: StructuralSchema, path: readonly string[] = []): readonly Field[] {
  if (schema.type === 'string')
    return (schema.maxLength ?? 0) >= 64 ? [{ path, maxLength: schema.maxLength ?? 0 }] : [];
  if (schema.items !== undefined) return textsOf(schema.items, [...path, '0']);
  return Object.entries(schema.properties ?? {}).flatMap(([name, child]) => textsOf(child, [...path, name]));
}

function withText(value: unknown, [name, ...rest]: readonly string[], text: string): unknown {
  if (name === undefined) return text;
  if (name === '0') return [withText(Array.isArray(value) ? value[0] : undefined, rest, text)];
  const object = (value ?? {}) as Readonly<Record<string, unknown>>;
  return { ...object, [name]: withText(object[name], rest, text) };
}

describe.each([...kinds])('every text of a %s', (kind) => {
  test.each(
    textsOf(definitions[kind].spec).map(({ path, maxLength }) => [path.join('.'), path, maxLength] as const),
  )('%s is read in linear time, whatever fills it', (_, path, maxLength) => {
    const object = examples[kind];
    for (const [prefix, filling] of prefixes.flatMap((each) =>
      fillings.map((filling) => [each, filling] as const),
    )) {
      const growth = growthOf(
        (size) => {
          const spec = withText(object.spec, path, prefix + filling.repeat(Math.ceil(size / filling.length)));
          const filled = { ...object, spec } as AnyResource;
          return () => judge(filled);
        },
        Math.floor(maxLength / 4),
      );
      expect({ prefix, filling, isLinear: growth < mostGrowth, growth }).toMatchObject({ isLinear: true });
    }
  });
});

describe('linear in their number and nesting are', () => {
  const nested = (levels: number): string =>
    '[{"name":"f","inputs":['.concat(
      '{"type":"tuple","components":['.repeat(levels),
      ']}'.repeat(levels),
      ']}]',
    );

  test.each([
    {
      name: 'whitelisted signatures of nested tuples',
      size: 250,
      run: (size: number) => {
        const methods = Array.from(
          { length: size },
          (_, index) => `f${index}(${'('.repeat(240)}${')'.repeat(240)})`,
        );
        return aSmartContract({ whitelistedMethods: methods });
      },
    },
    {
      name: 'parentheses of one signature',
      size: 120,
      run: (size: number) =>
        aSmartContract({ whitelistedMethods: [`f(${'('.repeat(size / 2)}${')'.repeat(size / 2)})`] }),
    },
    {
      name: 'levels of tuples in an ABI',
      size: 1_500,
      run: (size: number) => aSmartContract({ abi: nested(size), whitelistedMethods: [] }),
    },
    {
      name: 'dimensions of an array in an ABI',
      size: 20_000,
      run: (size: number) =>
        aSmartContract({ abi: `[{"name":"f","inputs":[{"type":"uint8${'[]'.repeat(size)}"}]}]` }),
    },
    {
      name: 'signatures written where an ABI has objects',
      size: 20_000,
      run: (size: number) =>
        aSmartContract({ abi: `[{"name":"f","inputs":["${'('.repeat(size)}${')'.repeat(size)}"]}]` }),
    },
    {
      name: 'overloads of one name, each named by the whitelist',
      size: 250,
      run: (size: number) =>
        aSmartContract({
          abi: JSON.stringify(
            Array.from({ length: size }, (_, index) => ({
              name: 'f',
              inputs: [{ type: `uint8[${index + 1}]` }],
            })),
          ),
          whitelistedMethods: Array.from({ length: size }, () => 'f'),
        }),
    },
  ])('$name', ({ run, size }) => {
    const growth = growthOf((n) => {
      const contract = run(n);
      return () => compilePaymaster(someSources({ contracts: [contract] }));
    }, size);
    expect(growth).toBeLessThan(mostGrowth);
  });

  test('contracts of a paymaster that are served already', () => {
    const growth = growthOf((size) => {
      const contracts = Array.from({ length: size }, (_, index) =>
        aSmartContract({
          meta: { name: `c${index}` },
          name: `c${index}`,
          address: `0x${(index + 1).toString(16).padStart(40, '0')}`,
          abi: anAbi,
        }),
      );
      const previous = compilePaymaster(someSources({ contracts })).config;
      return () => compilePaymaster(someSources({ contracts, previous }));
    }, 250);
    expect(growth).toBeLessThan(mostGrowth);
  });

  test('lines that look like the beginning of a funding message', () => {
    const growth = growthOf((size) => {
      const text = `\nChain id: 1\nPaymaster contract: 0x${'0'.repeat(40)}\nOrganisation: a`.repeat(size);
      return () => parseFundingMessage(text);
    }, 200);
    expect(growth).toBeLessThan(mostGrowth);
  });
});
