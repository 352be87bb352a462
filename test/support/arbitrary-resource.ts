import fc from 'fast-check';
import { apiVersion } from '../../core/meta/meta.js';
import { kindNames, type AnyResource, type Kind } from '../../core/resources/kinds.js';
import { definitions } from '../../core/resources/schemas.js';
import { validateMetadata, validateResource } from '../../core/resources/validate.js';
import type { StructuralSchema } from '../../core/schema/structural.js';
import {
  aChain,
  aDashboardToken,
  aFeeToken,
  anOrganisation,
  aPaymaster,
  aPolicy,
  aSmartContract,
} from '../build/resources.js';

const bases: Readonly<Record<Kind, AnyResource>> = {
  Chain: aChain(),
  FeeToken: aFeeToken(),
  Organisation: anOrganisation(),
  Paymaster: aPaymaster(),
  SmartContract: aSmartContract(),
  PaymasterPolicy: aPolicy(),
  DashboardToken: aDashboardToken(),
};

/**
 * Resources of every kind that a store takes: what must be there is plain, and of everything that may be there, any part, with
 * values from the schema. So a field that is added is in it.
 */
export function arbitraryOf(kinds: readonly Kind[]): fc.Arbitrary<AnyResource> {
  return fc
    .constantFrom(...kinds)
    .chain((kind) => fc.tuple(fc.constant(kind), name, texts, texts, optional(definitions[kind].spec)))
    .map(resourceOf);
}

type Parts = readonly [
  Kind,
  string,
  Record<string, string>,
  Record<string, string>,
  readonly (readonly [string, unknown])[],
];

function resourceOf([kind, own, labels, annotations, more]: Parts): AnyResource {
  const namespace = kindNames[kind].scope === 'Namespaced' ? { namespace: 'acme' } : {};
  const metadata = { ...taken({ labels, annotations }), name: own, ...namespace };
  let object = { apiVersion, kind, metadata, spec: bases[kind].spec } as AnyResource;
  // Rules between fields refuse some of them.
  for (const [field, value] of more) {
    const next = { ...object, spec: { ...object.spec, [field]: value } } as AnyResource;
    if (validateResource(kind, next).length === 0) object = next;
  }
  return object;
}

const name = fc.stringMatching(/^[a-z]([a-z0-9-]{0,10}[a-z0-9])?$/);
/** Labels are short and plain, annotations are any text. */
const texts = fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), fc.string({ unit: 'binary', maxLength: 12 }), {
  maxKeys: 3,
});

function taken({
  labels,
  annotations,
}: {
  labels: Record<string, string>;
  annotations: Record<string, string>;
}) {
  return {
    ...(validateMetadata({ labels }).length === 0 && Object.keys(labels).length > 0 ? { labels } : {}),
    ...(validateMetadata({ annotations }).length === 0 && Object.keys(annotations).length > 0
      ? { annotations }
      : {}),
  };
}

function optional({
  properties = {},
}: StructuralSchema): fc.Arbitrary<readonly (readonly [string, unknown])[]> {
  return fc
    .subarray(Object.entries(properties))
    .chain((members) =>
      fc.tuple(...members.map(([field, schema]) => fc.tuple(fc.constant(field), valueOf(schema)))),
    );
}

const known = new WeakMap<StructuralSchema, fc.Arbitrary<unknown>>();

/** Made once: patterns take long to compile. */
function valueOf(schema: StructuralSchema): fc.Arbitrary<unknown> {
  const found = known.get(schema) ?? madeFor(schema);
  known.set(schema, found);
  return found;
}

function madeFor(schema: StructuralSchema): fc.Arbitrary<unknown> {
  const { type, properties = {}, required = [], items } = schema;
  const { minItems = 0, maxItems = 3, minimum = 0, maximum = 1_000_000 } = schema;
  const integer = fc.integer({ min: Math.ceil(minimum), max: Math.min(Math.floor(maximum), 2 ** 31 - 1) });
  if (Array.isArray(type)) return fc.oneof(integer, textOf(schema));
  switch (type) {
    case 'object':
      return fc.record(
        Object.fromEntries(Object.entries(properties).map(([field, child]) => [field, valueOf(child)])),
        { requiredKeys: [...required] },
      );
    case 'array':
      return fc.uniqueArray(items === undefined ? fc.string() : valueOf(items), {
        minLength: minItems,
        maxLength: Math.max(minItems, Math.min(maxItems, 3)),
        comparator: (a, b) => JSON.stringify(a) === JSON.stringify(b),
      });
    case 'integer':
    case 'number':
      return integer;
    case 'boolean':
      return fc.boolean();
    default:
      return textOf(schema);
  }
}

function textOf({
  enum: choices,
  pattern,
  minLength = 0,
  maxLength = 40,
}: StructuralSchema): fc.Arbitrary<string> {
  if (choices !== undefined) return fc.constantFrom(...choices);
  const fits = (text: string) => text.length >= minLength && text.length <= maxLength;
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern)).filter(fits);
  return fc.string({ unit: 'binary', minLength, maxLength: Math.min(maxLength, 40) });
}

export const arbitraryResource = arbitraryOf(Object.keys(bases) as Kind[]);
