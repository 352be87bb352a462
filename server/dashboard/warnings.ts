import { unknownFields } from '../../core/schema/unknown-fields.js';
import type { StructuralSchema } from '../../core/schema/structural.js';
import type { Endpoint } from './endpoint.js';
import { schemaOfPolicy } from './schemas.js';

/** One sentence per ignored field of a body: a misspelt optional field would otherwise silently mean its default. */
export function bodyWarnings({ operationId, bodies }: Endpoint, body: unknown): readonly string[] {
  const schema = schemaOf(operationId, bodies, body);
  if (schema === undefined) return [];
  return unknownFields(schema, body).map(({ field, nearest }) =>
    nearest === undefined
      ? `${field} is not known and was ignored`
      : `${field} is not known and was ignored: did you mean ${nearest}?`,
  );
}

function schemaOf(
  operationId: string,
  bodies: readonly StructuralSchema[] | undefined,
  body: unknown,
): StructuralSchema | undefined {
  return operationId === 'createPolicy' ? schemaOfPolicy(body) : bodies?.[0];
}
