import { isObject } from '../../core/schema/json-value.js';
import type { JsonSchema } from '../../core/schema/json-schema.js';

/** One way in which a body can grow: `bodyOf` makes it as JSON text with about so many bytes in that member. */
export type Growth = {
  readonly member: string;
  readonly bodyOf: (bytes: number) => string;
  /** Bytes of the member at the schema's bound. Absent: it has none. */
  readonly most?: number;
};

type Components = Readonly<Record<string, JsonSchema>>;
type Put = (value: unknown) => unknown;

/**
 * Every member of a body that can repeat or grow, from its schema, and from its example where the schema leaves open what a member
 * is. A member that is added to a schema is among them without a change here.
 */
export function growthsOf(schema: JsonSchema, example: unknown, components: Components = {}): Growth[] {
  return growthsAt({ schema, value: example, member: 'body', put: (value) => value, components });
}

type Place = {
  readonly schema: JsonSchema;
  readonly value: unknown;
  readonly member: string;
  readonly put: Put;
  readonly components: Components;
};

function growthsAt(place: Place): Growth[] {
  const schema = resolved(place.schema, place.components);
  const choices = schema['anyOf'] ?? schema['oneOf'];
  if (Array.isArray(choices))
    return choices.flatMap((choice: JsonSchema, index) =>
      growthsAt({ ...place, schema: choice, member: `${place.member}|${index}` }),
    );
  switch (schema['type'] ?? typeOf(place.value)) {
    case 'string':
      return textGrowths(place, schema);
    case 'number':
    case 'integer':
      return [growth(place, 'digits', (bytes) => new Raw('1'.repeat(bytes)))];
    case 'array':
      return arrayGrowths(place, schema);
    case 'object':
      return objectGrowths(place, schema);
    default:
      return [];
  }
}

function textGrowths(place: Place, schema: JsonSchema): Growth[] {
  if (schema['enum'] !== undefined) return [growth(place, 'letters', (bytes) => 'a'.repeat(bytes))];
  const bound = typeof schema['maxLength'] === 'number' ? { most: schema['maxLength'] } : {};
  const listed = listIn(place.value);
  return [
    growth(place, 'letters', (bytes) => 'a'.repeat(bytes), bound),
    growth(place, 'digits', (bytes) => '1'.repeat(bytes), bound),
    growth(place, 'hex', (bytes) => `0x${'ab'.repeat(bytes / 2 - 1)}`, bound),
    growth(place, 'brackets', (bytes) => '('.repeat(bytes), bound),
    growth(place, 'spaces', (bytes) => `a${' '.repeat(bytes - 2)}a`, bound),
    ...(listed === undefined
      ? []
      : [growth(place, 'items', (bytes) => JSON.stringify(repeated(listed, bytes)), bound)]),
    ...(typeof place.value === 'string' && place.value.length > 1
      ? [
          growth(
            place,
            'repeated',
            (bytes) => String(place.value).repeat(bytes / String(place.value).length),
            bound,
          ),
        ]
      : []),
  ];
}

function arrayGrowths(place: Place, schema: JsonSchema): Growth[] {
  const given = Array.isArray(place.value) ? place.value : [];
  const items = isObject(schema['items']) ? (schema['items'] as JsonSchema) : {};
  const itemAt = (index: number): unknown => sample(items, place.components, index, given[0]);
  const size = JSON.stringify(itemAt(0)).length + 1;
  const fill = (bytes: number, item: (index: number) => unknown) =>
    Array.from({ length: Math.max(1, Math.floor(bytes / size)) }, (_, index) => item(index));
  const most = typeof schema['maxItems'] === 'number' ? { most: schema['maxItems'] * size } : {};
  return [
    growth(place, 'items', (bytes) => fill(bytes, itemAt), most),
    growth(place, 'equal items', (bytes) => fill(bytes, () => itemAt(0)), most),
    growth(place, 'depth', (bytes) => new Raw('['.repeat(bytes / 2) + ']'.repeat(bytes / 2))),
    ...growthsAt({
      ...place,
      schema: items,
      value: itemAt(0),
      member: `${place.member}[]`,
      put: (value) => place.put([value]),
    }),
  ];
}

function objectGrowths(place: Place, schema: JsonSchema): Growth[] {
  const given = isObject(place.value) ? place.value : sampled(schema, place.components);
  const whole = isObject(given) ? given : {};
  const map = isObject(schema['additionalProperties'])
    ? (schema['additionalProperties'] as JsonSchema)
    : undefined;
  const entry = (index: number) => [`x-${index}`, sample(map ?? {}, place.components, index, 'x')] as const;
  const size = JSON.stringify(entry(0)).length;
  const most = typeof schema['maxProperties'] === 'number' ? { most: schema['maxProperties'] * size } : {};
  const declared = isObject(schema['properties']) ? schema['properties'] : {};
  const names = new Set([...Object.keys(declared), ...Object.keys(whole)]);
  return [
    growth(
      place,
      'members',
      (bytes) => ({
        ...(map === undefined && whole),
        ...Object.fromEntries(
          Array.from({ length: Math.max(1, Math.floor(bytes / size)) }, (_, index) => entry(index)),
        ),
      }),
      most,
    ),
    growth(place, 'name', (bytes) => ({ ...whole, ['n'.repeat(bytes)]: 'x' })),
    growth(place, 'depth', (bytes) => ({
      ...whole,
      deep: new Raw('{"a":'.repeat(bytes / 6) + '1' + '}'.repeat(bytes / 6)),
    })),
    ...[...names].flatMap((name) =>
      growthsAt({
        ...place,
        schema: (declared[name] ?? map ?? {}) as JsonSchema,
        value: whole[name],
        member: `${place.member}.${name}`,
        put: (value) => place.put({ ...whole, [name]: value }),
      }),
    ),
  ];
}

function growth(
  { member, put }: Place,
  how: string,
  value: (bytes: number) => unknown,
  bound: Pick<Growth, 'most'> = {},
): Growth {
  return {
    member: `${member} (${how})`,
    bodyOf: (bytes) => textOf(put(value(Math.max(2, Math.floor(bytes))))),
    ...bound,
  };
}

/** JSON that `JSON.stringify` does not write: numbers of many digits, and what is nested deeper than its recursion goes. */
class Raw {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

function textOf(body: unknown): string {
  const raw: string[] = [];
  const text = JSON.stringify(body, (_, value: unknown) =>
    value instanceof Raw ? `\u0001${raw.push(value.text) - 1}\u0001` : value,
  );
  return text.replace(/"\\u0001(\d+)\\u0001"/g, (_, index: string) => raw[Number(index)] ?? '');
}

function resolved(schema: JsonSchema, components: Components): JsonSchema {
  const { $ref: reference } = schema;
  const name = typeof reference === 'string' ? reference.split('/').at(-1) : undefined;
  return (name === undefined ? undefined : components[name]) ?? schema;
}

function typeOf(value: unknown): string {
  return Array.isArray(value) ? 'array' : typeof value;
}

/** The items of an example that is a list as JSON text, such as an ABI. */
function listIn(value: unknown): readonly unknown[] | undefined {
  if (typeof value !== 'string' || !value.startsWith('[')) return undefined;
  const list: unknown = JSON.parse(value);
  return Array.isArray(list) && list.length > 0 ? list : undefined;
}

/** As many as fit, each with another name. */
function repeated(items: readonly unknown[], bytes: number): unknown[] {
  const [item] = items;
  const size = JSON.stringify(item).length + 6;
  return Array.from({ length: Math.max(1, Math.floor(bytes / size)) }, (_, index) =>
    isObject(item) && typeof item['name'] === 'string' ? { ...item, name: `${item['name']}${index}` } : item,
  );
}

const texts = (index: number): readonly string[] => [
  `m${index}`,
  `m${index}()`,
  `0x${index.toString(16).padStart(40, '0')}`,
  `0x${index.toString(16).padStart(64, '0')}`,
  `0x${index.toString(16).padStart(8, '0')}`,
  `0x${index.toString(16).padStart(130, '0')}`,
  `https://h${index}.example.com/`,
  `2026-01-01T00:00:${String(index % 60).padStart(2, '0')}Z`,
  String(index + 1),
  `10.${Math.floor(index / 65536) % 256}.${Math.floor(index / 256) % 256}.${index % 256}/32`,
  `0000${index}`.slice(-4),
];

/** A small value that the schema allows, another one for each index where it has many. */
function sample(schema: JsonSchema, components: Components, index: number, given?: unknown): unknown {
  const {
    type,
    enum: values,
    anyOf,
    oneOf,
    pattern,
    maxLength,
    minimum,
    maximum,
    items,
  } = resolved(schema, components);
  const choices = anyOf ?? oneOf;
  if (Array.isArray(choices)) return sample(choices[0] as JsonSchema, components, index, given);
  if (Array.isArray(values)) return values[index % values.length];
  switch (type ?? typeOf(given)) {
    case 'string': {
      const fits = (text: string): boolean =>
        (typeof maxLength !== 'number' || text.length <= maxLength) &&
        (typeof pattern !== 'string' || new RegExp(pattern, 'u').test(text));
      return texts(index).find(fits) ?? (typeof given === 'string' ? given : `m${index}`);
    }
    case 'number':
    case 'integer': {
      const least = typeof minimum === 'number' ? minimum : 0;
      return typeof maximum === 'number'
        ? least + (index % (Math.min(maximum, 2 ** 31) - least + 1))
        : least + index;
    }
    case 'boolean':
      return true;
    case 'array':
      return [sample(items as JsonSchema, components, index)];
    case 'object':
      return isObject(given) && Object.keys(given).length > 0
        ? given
        : sampled(resolved(schema, components), components, index);
    default:
      return given ?? 'x';
  }
}

function sampled(schema: JsonSchema, components: Components, index = 0): unknown {
  const declared = isObject(schema['properties']) ? schema['properties'] : {};
  const required = Array.isArray(schema['required']) ? schema['required'].map(String) : [];
  return Object.fromEntries(
    required.map((name) => [name, sample((declared[name] ?? {}) as JsonSchema, components, index)]),
  );
}
