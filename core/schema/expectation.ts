import type { StructuralSchema } from './structural.js';

/** What a schema allows, in words that complete "<field> must be …". */
export function expectation(schema: StructuralSchema): string {
  if (schema.expected !== undefined) return schema.expected;
  if (schema.enum) return alternatives(schema.enum.map((value) => `"${value}"`));
  switch (schema.type) {
    case 'object':
      return schema.properties ? `an object of ${names(schema)}` : 'an object';
    case 'boolean':
      return 'true or false';
    case 'integer':
      return `a whole number${range(schema.minimum, schema.maximum)}`;
    case 'number':
      return `a number${range(schema.minimum, schema.maximum)}`;
    case 'string':
      return `text of ${count(schema.minLength, schema.maxLength)} characters`;
    case 'array':
      return `a list of ${count(schema.minItems, schema.maxItems)} items`;
    default:
      return 'a whole number or text';
  }
}

/** The fields that an object has, for the message about an unknown field. */
export function names(schema: StructuralSchema): string {
  return Object.keys(schema.properties ?? {}).join(', ');
}

function alternatives(values: readonly string[]): string {
  const last = values.at(-1) ?? '';
  return values.length < 2 ? last : `${values.slice(0, -1).join(', ')} or ${last}`;
}

function range(minimum?: number, maximum?: number): string {
  return minimum === undefined || maximum === undefined ? '' : ` from ${minimum} to ${maximum}`;
}

function count(least = 0, most?: number): string {
  return most === undefined ? `at least ${least}` : least === 0 ? `at most ${most}` : `${least} to ${most}`;
}
