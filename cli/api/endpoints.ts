import type { JsonSchema } from '../../core/schema/json-schema.js';
import { isObject } from '../../core/schema/json-value.js';
import type { Endpoint } from '../../server/dashboard/endpoint.js';

/** What commands are made of: of an endpoint's row, what may be written to a file. */
export type ApiEndpoint = Pick<Endpoint, 'operationId' | 'summary' | 'method' | 'path' | 'scope' | 'form'> & {
  readonly parameters?: Readonly<
    Record<string, { readonly description: string; readonly schema: JsonSchema }>
  >;
  readonly body?: { readonly schemas: readonly JsonSchema[] };
  readonly isList: boolean;
};

/** All of the management API. It takes the modules of the server, which are many. */
export async function readEndpoints(): Promise<readonly ApiEndpoint[]> {
  const { manageEndpoints, platformEndpoints } = await import('../../server/dashboard/endpoints.js');
  return [...manageEndpoints, ...platformEndpoints].map(describeEndpoint);
}

export function describeEndpoint({
  operationId,
  summary,
  method,
  path,
  scope,
  form,
  parameters,
  body,
  schema,
}: Endpoint): ApiEndpoint {
  const described = Object.entries(parameters ?? {}).map(([name, { description, schema: of }]) => [
    name,
    { description, schema: of },
  ]);
  return {
    operationId,
    summary,
    method,
    path,
    scope,
    ...(form && { form }),
    ...(parameters && { parameters: Object.fromEntries(described) }),
    ...(body && { body: { schemas: body.schemas.map(shallow) } }),
    isList: method === 'get' && isObject(schema?.['properties']) && 'items' in schema['properties'],
  };
}

/** Members of a member are in files, never options. */
function shallow({ properties }: JsonSchema): JsonSchema {
  const members = Object.entries(isObject(properties) ? properties : {}).map(([name, member]) => {
    const { properties: _, ...rest } = isObject(member) ? member : {};
    return [name, rest];
  });
  return { properties: Object.fromEntries(members) };
}
