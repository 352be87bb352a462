/**
 * The part of OpenAPI v3 that a CustomResourceDefinition allows ("structural schema"), and builders of schemas that
 * carry the TypeScript type of the values that they allow: `Infer` reads it, so a field is written once, with what
 * bounds it and what it is for.
 *
 * One schema serves three readers: the API server (as CRD), ajv (facade, manifests, embedded store) and
 * `kubectl explain`. Every text, list and number is bounded, because the API server computes the cost of CEL rules
 * from these bounds.
 */
export type StructuralSchema = {
  /** The list: a whole number or a text, which a CRD writes as `x-kubernetes-int-or-string`. */
  readonly type: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean' | typeof integerOrText;
  readonly description: string;
  readonly properties?: Readonly<Record<string, StructuralSchema>>;
  readonly required?: readonly string[];
  readonly maxProperties?: number;
  readonly items?: StructuralSchema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly enum?: readonly string[];
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly format?: 'int64';
  readonly 'x-kubernetes-validations'?: readonly CelRule[];
  readonly 'x-kubernetes-list-type'?: 'atomic' | 'set' | 'map';
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly 'x-kubernetes-map-type'?: 'granular' | 'atomic';
} & Hints;

const integerOrText = ['integer', 'string'] as const;

/** What our own messages need and a CRD cannot contain; left out of the generated YAML. */
type Hints = {
  /** Completes "<field> must be …". Without it the message is built from type and bounds. */
  readonly expected?: string;
  /** The value is a secret or may contain one: messages never quote it. */
  readonly confidential?: true;
  /** An address: in mixed case its EIP-55 checksum must be right. The API server cannot judge it, so conditions do. */
  readonly eip55?: true;
};

/** A CEL rule over `self`; one that mentions `oldSelf` is a transition rule and is skipped on create. */
export type CelRule = {
  readonly rule: string;
  /** Begins with "must be" and says how to correct the value: it follows the field's name wherever it is shown. */
  readonly message: `must be ${string}`;
  /** The field for which the problem is reported, relative to the rule's own field, e.g. `.spendingLimit`. */
  readonly fieldPath?: `.${string}`;
};

declare const shape: unique symbol;

/** A structural schema of values of type T. The type exists for the compiler only. */
export type SchemaOf<T> = StructuralSchema & { readonly [shape]?: T };

/** The type of the values that a schema allows; comments on the fields of the schema are those of the type. */
export type Infer<S> = S extends SchemaOf<infer T> ? T : never;

type Fields = Readonly<Record<string, SchemaOf<unknown>>>;
type None = Readonly<Record<never, never>>;

type ObjectOf<R, O> = { readonly [K in keyof R]: Infer<R[K]> } & { readonly [K in keyof O]?: Infer<O[K]> };

/** An object with exactly these fields; unknown ones are refused. */
export function object<R extends Fields = None, O extends Fields = None>(
  description: string,
  fields: { readonly required?: R; readonly optional?: O },
  ...rules: readonly CelRule[]
  // Written out: editors show the fields, where a name would hide them.
): SchemaOf<{ [K in keyof ObjectOf<R, O>]: ObjectOf<R, O>[K] }> {
  const required = Object.keys(fields.required ?? {});
  const properties: Record<string, StructuralSchema> = { ...fields.required, ...fields.optional };
  return {
    type: 'object',
    description,
    properties,
    ...(required.length > 0 && { required }),
    ...(rules.length > 0 && { 'x-kubernetes-validations': rules }),
  };
}

/** An object without any field: only its presence has a meaning. */
export function emptyObject(description: string): SchemaOf<Readonly<Record<string, never>>> {
  return { type: 'object', description, maxProperties: 0, expected: 'an empty object: {}' };
}

type TextBounds = {
  readonly minLength?: number;
  readonly maxLength: number;
  readonly pattern?: string;
} & Hints;

export function text(
  description: string,
  bounds: TextBounds,
  ...rules: readonly CelRule[]
): SchemaOf<string> {
  return {
    type: 'string',
    description,
    ...bounds,
    ...(rules.length > 0 && { 'x-kubernetes-validations': rules }),
  };
}

/** One text of a closed list. */
export function choice<const T extends string>(
  description: string,
  values: readonly T[],
  ...rules: readonly CelRule[]
): SchemaOf<T> {
  return {
    type: 'string',
    description,
    enum: values,
    // Also bounded as text: the cost estimate of CEL rules uses maxLength and ignores the enum.
    maxLength: Math.max(...values.map((value) => value.length)),
    ...(rules.length > 0 && { 'x-kubernetes-validations': rules }),
  };
}

type Range = { readonly minimum: number; readonly maximum: number };

export function integer(
  description: string,
  { minimum, maximum, ...hints }: Range & Hints,
  ...rules: readonly CelRule[]
): SchemaOf<number> {
  return {
    type: 'integer',
    format: 'int64',
    description,
    minimum,
    maximum,
    ...hints,
    ...(rules.length > 0 && { 'x-kubernetes-validations': rules }),
  };
}

/** A whole number within the range, or one word instead. */
export function integerOr<const T extends string>(
  description: string,
  word: T,
  { minimum, maximum }: Range,
): SchemaOf<number | T> {
  return {
    type: integerOrText,
    description,
    minimum,
    maximum,
    maxLength: word.length,
    pattern: `^${word}$`,
    expected: `a whole number from ${minimum} to ${maximum} or "${word}"`,
  };
}

/** A number that may have decimals; never money, which is decimal text. */
export function number(description: string, { minimum, maximum }: Range): SchemaOf<number> {
  return { type: 'number', description, minimum, maximum };
}

export function boolean(description: string): SchemaOf<boolean> {
  return { type: 'boolean', description };
}

type ListBounds = { readonly minItems?: number; readonly maxItems: number };

/** A list with one owner: server-side apply replaces it as a whole, in every store. */
export function list<T>(
  description: string,
  items: SchemaOf<T>,
  bounds: ListBounds,
  ...rules: readonly CelRule[]
): SchemaOf<readonly T[]> {
  return {
    type: 'array',
    description,
    items,
    ...bounds,
    'x-kubernetes-list-type': 'atomic',
    ...(rules.length > 0 && { 'x-kubernetes-validations': rules }),
  };
}

/** A list of objects identified by one field, e.g. conditions by `type`. */
export function keyedList<T extends object>(
  description: string,
  key: keyof T & string,
  items: SchemaOf<T>,
  bounds: ListBounds,
): SchemaOf<readonly T[]> {
  const byKey = { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': [key] } as const;
  return { ...list(description, items, bounds), ...byKey };
}

/** The field never changes once it is set; `instead` says what to do. */
export function immutable(instead: string): CelRule {
  return { rule: 'self == oldSelf', message: `must be left as it was: ${instead}` };
}
