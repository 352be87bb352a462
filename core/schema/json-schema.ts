/** JSON Schema 2020-12, as OpenAPI 3.1 and OpenRPC embed it. */
export type JsonSchema = { readonly [keyword: string]: unknown };

type Members = Readonly<Record<string, JsonSchema>>;

/** An object with exactly these members. */
export function record(required: Members, optional: Members = {}): JsonSchema {
  return { ...openRecord(required, optional), additionalProperties: false };
}

/** An object with these members, and others that are not described. */
export function openRecord(required: Members, optional: Members = {}): JsonSchema {
  const names = Object.keys(required);
  return {
    type: 'object',
    ...(names.length > 0 && { required: names }),
    properties: { ...required, ...optional },
  };
}

type OptionalKeys<T> = { [K in keyof T]-?: object extends Pick<T, K> ? K : never }[keyof T];

/** An object with exactly the members of T: a member that is added to the type does not compile until it is described. */
export function recordOf<T extends object>(
  required: { readonly [K in Exclude<keyof T, OptionalKeys<T>>]: JsonSchema },
  ...[optional]: OptionalKeys<T> extends never ? [] : [{ readonly [K in OptionalKeys<T>]-?: JsonSchema }]
): JsonSchema {
  return record(required, optional);
}

/** The schema of this name in the document's components; with another description where one is given. */
export function reference(name: string, description?: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}`, ...(description !== undefined && { description }) };
}

export function arrayOf(items: JsonSchema, description?: string): JsonSchema {
  return { type: 'array', items, ...(description !== undefined && { description }) };
}
