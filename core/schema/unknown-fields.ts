import { isObject } from './json-value.js';
import { joinField } from './field-path.js';

/** A field that a schema does not know, and the known field that was perhaps meant. */
type UnknownField = { readonly field: string; readonly nearest?: string };

/** The names that an object may have, in any kind of schema. */
export type FieldNames = { readonly properties?: { readonly [name: string]: FieldNames } };

/** Stops at this number: a body can have very many. */
const most = 20;
/** Longer names are cut in messages, and no known name is close to them. */
const maxNameLength = 40;

/**
 * Fields of a value that the schema does not know, in the order of the value, at most twenty. Items of lists are not
 * checked.
 */
export function unknownFields(schema: FieldNames, value: unknown, parent = ''): readonly UnknownField[] {
  if (schema.properties === undefined || !isObject(value)) return [];
  const found: UnknownField[] = [];
  for (const name in value) {
    if (found.length >= most) break;
    const child = Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined;
    if (child !== undefined) {
      found.push(...unknownFields(child, value[name], joinField(parent, name)));
      continue;
    }
    // A field that is already given was not meant.
    const missing = Object.keys(schema.properties).filter((known) => !Object.hasOwn(value, known));
    const nearest = nearestName(name, missing);
    const field = joinField(parent, shortenName(name));
    found.push(nearest === undefined ? { field } : { field, nearest: joinField(parent, nearest) });
  }
  return found.slice(0, most);
}

/** The most similar name, if one is close: in another case, or with a few letters wrong, missing, added or swapped. */
export function nearestName(name: string, names: readonly string[]): string | undefined {
  if (name.length > maxNameLength) return undefined;
  const wanted = name.toLowerCase();
  const tolerance = Math.max(1, Math.floor(wanted.length / 3));
  let best: { readonly name: string; readonly distance: number } | undefined;
  for (const candidate of names) {
    const distance = editDistance(wanted, candidate.toLowerCase());
    if (distance <= tolerance && distance < (best?.distance ?? Number.POSITIVE_INFINITY))
      best = { name: candidate, distance };
  }
  return best?.name;
}

/** Levenshtein distance: how many letters must be changed, added or removed. Both texts are short. */
function editDistance(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let i = 1; i <= left.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= right.length; j += 1) {
      const changed = (row[j - 1] ?? 0) + Number(left[i - 1] !== right[j - 1]);
      next.push(Math.min(changed, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[right.length] ?? 0;
}

function shortenName(name: string): string {
  return name.length > maxNameLength ? `${name.slice(0, maxNameLength)}…` : name;
}
