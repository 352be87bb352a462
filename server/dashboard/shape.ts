import { arrayOf, record, type JsonSchema } from '../../core/schema/json-schema.js';
import { formatInstant, type EpochMs } from '../../core/units/time.js';
import { formatDecimal } from '../../core/units/wei.js';

export const coins: JsonSchema = { type: 'string', description: 'The same in coins, as decimal text.' };

/** A member of a record that the API shows: its schema, an example, and how it is read. */
export type Member<S> = readonly [schema: JsonSchema, example: unknown, read: (source: S) => unknown];

/** What the source has under the same name needs no reading. */
type Row<S, Name> = Name extends keyof S ? Member<S> | readonly [JsonSchema, unknown?] : Member<S>;

/** A record that the API shows: schema, example, columns and rendering follow from one row for each member. */
export type Shape<S, Name extends string = string> = {
  /** For a shape that has these members and others. */
  readonly members: { readonly [K in Name]: Member<S> };
  readonly schema: JsonSchema;
  readonly example: Readonly<Record<Name, unknown>>;
  readonly columns: readonly Name[];
  readonly render: (source: S) => Readonly<Record<Name, unknown>>;
};

/**
 * The shape of records that show S. What is read is shown as its schema says: a time of milliseconds as RFC 3339, a bigint as decimal
 * text, and what is undefined as null.
 */
export function shapeOf<S>() {
  return <Name extends string>(rows: { readonly [K in Name]: Row<S, K> }): Shape<S, Name> => {
    const names = Object.keys(rows) as Name[];
    const members = mapped<Member<S>>((name) => {
      const [schema, example, read]: readonly [JsonSchema, unknown?, Member<S>[2]?] = rows[name];
      return [schema, example, read ?? ((source) => (source as Readonly<Record<string, unknown>>)[name])];
    });
    const readings = names.map((name) => [name, members[name][0], members[name][2]] as const);
    return {
      members,
      schema: record(mapped((name) => members[name][0])),
      example: mapped((name) => members[name][1]),
      columns: names,
      // A table may have a million rows: a loop takes a third of the time.
      render(source) {
        const rendered: Record<string, unknown> = {};
        for (const [name, { format }, read] of readings) rendered[name] = renderValue(format, read(source));
        return rendered as Record<Name, unknown>;
      },
    };

    function mapped<T>(of: (name: Name) => T): { readonly [K in Name]: T } {
      return Object.fromEntries(names.map((name) => [name, of(name)])) as { [K in Name]: T };
    }
  };
}

/** An amount of the native coin: `<name>Wei` in wei, and `<name>` the same in coins. `schema` is that of wei. */
export function inCoins<Name extends string, S = { readonly [K in `${Name}Wei`]: bigint | undefined }>(
  name: Name,
  schema: JsonSchema,
  example: bigint | null,
  read = (source: S) => (source as Readonly<Record<string, unknown>>)[`${name}Wei`] as bigint | undefined,
): { readonly [K in Name | `${Name}Wei`]: Member<S> } {
  const decimal = (wei: bigint | null | undefined) => (wei == null ? null : formatDecimal(wei, 18));
  const inWei: Member<S> = [schema, example?.toString() ?? null, read];
  const coin = { ...coins, type: schema['type'] };
  const rendered: Member<S> = [coin, decimal(example), (source) => decimal(read(source))];
  return { [`${name}Wei`]: inWei, [name]: rendered } as { [K in Name | `${Name}Wei`]: Member<S> };
}

type Shown = Pick<Shape<never>, 'schema' | 'example'>;

/** The one envelope of lists. A page may be shorter than it was asked for. */
export function listSchema(item: JsonSchema, beside: Readonly<Record<string, JsonSchema>> = {}): JsonSchema {
  return record({
    ...beside,
    items: arrayOf(item),
    nextCursor: { type: ['string', 'null'], description: 'For the next page; null on the last one.' },
  });
}

/** A list that is answered at once. */
export function wholeList<T>(items: readonly T[]) {
  return { items, nextCursor: null };
}

/** What the row of an endpoint says that answers one such record. */
export function showsOne({ schema, example }: Shown) {
  return { schema, example };
}

/** The same of an endpoint that lists them. */
export function showsList({ schema, example }: Shown) {
  return { schema: listSchema(schema), example: wholeList([example]) };
}

/** The schema with another description. */
export function about(schema: JsonSchema, description: string): JsonSchema {
  return { ...schema, description };
}

/** The schema of a member that may be null. */
export function orNull(schema: JsonSchema): JsonSchema {
  return { anyOf: [{ type: 'null' }, schema] };
}

function renderValue(format: unknown, value: unknown): unknown {
  if (value === undefined) return null;
  if (typeof value === 'bigint') return value.toString();
  return format === 'date-time' && typeof value === 'number' ? formatInstant(value as EpochMs) : value;
}
