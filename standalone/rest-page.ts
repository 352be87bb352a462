import { tableOf } from '../operator/tables.js';
import type { Endpoint } from '../server/dashboard/endpoint.js';

/** The endpoints below a prefix as a table of a document. */
export function endpointTable(prefix: string, endpoints: readonly Endpoint[]): string {
  const rows = endpoints.map((each) => [
    `\`${each.method.toUpperCase()} ${prefix}${each.path.replace(/:(\w+)/g, '{$1}')}\``,
    each.summary,
    takers(each),
    Object.keys(each.parameters ?? {}).join(', ') || '–',
    each.form === undefined ? 'JSON' : forms[each.form],
  ]);
  return tableOf(['endpoint', 'what it does', 'token', 'parameters', 'answer'], rows);
}

const forms = { table: 'JSON or CSV', lines: 'JSON, or a line each second' };

function takers({ message, scope, needs = [] }: Endpoint): string {
  if (message !== undefined) return scope === 'paymaster' ? 'authToken and apiKey' : 'authToken';
  return [...new Set([...needs, 'write'])].join(', ');
}
