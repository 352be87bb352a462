import { invalidInput, quote, type Problem } from '../../core/errors.js';

export type RedisNode = { readonly host: string; readonly port: number };

/** Where Redis is. Sentinels are asked for the master of `name`; for a Cluster any node is enough. */
export type RedisAddress = { readonly isTls: boolean } & (
  | { readonly kind: 'standalone'; readonly node: RedisNode; readonly database: number }
  | { readonly kind: 'sentinel'; readonly nodes: readonly RedisNode[]; readonly name: string }
  | { readonly kind: 'cluster'; readonly nodes: readonly RedisNode[] }
);

const forms =
  'redis://HOST:PORT[/DATABASE], redis+sentinel://HOST:PORT,HOST:PORT/MASTER or redis+cluster://HOST:PORT,HOST:PORT, with rediss instead of redis for TLS, and without credentials (these come from files)';
const pattern = /^redis(s?)(?:\+(sentinel|cluster))?:\/\/([^/?#@]+)(?:\/([^/?#]*))?$/;
const nodePattern = /^(\[[0-9a-fA-F:.]+\]|[^:[\]\s]+)(?::([0-9]{1,5}))?$/;
const defaultPorts = { standalone: 6379, sentinel: 26_379, cluster: 6379 } as const;

/** Throws INVALID_INPUT naming `field` for anything that is not one of the three forms. */
export function parseRedisAddress(field: string, text: string): RedisAddress {
  const match = pattern.exec(text);
  // An address with credentials is not quoted.
  const problem: Problem = { field, expected: forms, ...(text.includes('@') ? {} : { value: quote(text) }) };
  if (match === null) throw invalidInput(problem);
  const [, secure, form, hosts = '', path = ''] = match;
  const isTls = secure === 's';
  const kind = form === 'sentinel' || form === 'cluster' ? form : 'standalone';
  const nodes = hosts.split(',').map((host) => parseNode(host, defaultPorts[kind]));
  const known = nodes.filter((node) => node !== undefined);
  const [first] = known;
  if (first === undefined || known.length < nodes.length) throw invalidInput(problem);
  if (kind === 'sentinel' && path !== '') return { kind, nodes: known, name: path, isTls };
  if (kind === 'cluster' && path === '') return { kind, nodes: known, isTls };
  if (kind === 'standalone' && known.length === 1 && /^[0-9]{0,4}$/.test(path))
    return { kind, node: first, database: Number(path), isTls };
  throw invalidInput(problem);
}

function parseNode(text: string, defaultPort: number): RedisNode | undefined {
  const match = nodePattern.exec(text);
  const port = Number(match?.[2] ?? defaultPort);
  if (match?.[1] === undefined || port < 1 || port > 65_535) return undefined;
  return { host: match[1].replace(/^\[|\]$/g, ''), port };
}
