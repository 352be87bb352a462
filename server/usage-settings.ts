import { parseRedisAddress } from '../adapters/redis/address.js';
import { DomainError } from '../core/errors.js';
import type { Settings } from '../core/settings.js';

/** Which usage store a process uses, and how to connect to it. */
export type UsageSettings =
  | { readonly kind: 'embedded'; readonly path: string }
  | {
      readonly kind: 'redis';
      readonly url: string;
      readonly keyPrefix: string;
      readonly durability: 'always' | 'none';
      readonly replicaAcks?: number;
      readonly credentials: {
        readonly usernameFile?: string;
        readonly passwordFile?: string;
        readonly sentinelUsernameFile?: string;
        readonly sentinelPasswordFile?: string;
      };
      readonly tls: {
        readonly caFile?: string;
        readonly certFile?: string;
        readonly keyFile?: string;
        readonly serverName?: string;
      };
    };

const prefix = 'PAYMASTER_USAGE_STORE_';

/** `file:/PATH` for the embedded store of one process, or an address of Redis. Credentials and certificates are files. */
export function readUsageSettings(settings: Settings): UsageSettings {
  const url = settings.text(`${prefix}URL`, 'redis://HOST:PORT, or file:/PATH for a single process');
  if (url.startsWith('file:')) {
    const path = url.slice('file:'.length).replace(/^\/\/\//, '/');
    if (!path.startsWith('/')) settings.mistake(`${prefix}URL`, 'an absolute path after file:', url);
    return { kind: 'embedded', path };
  }
  if (url !== '') checkAddress(settings, url);
  const acks = settings.optional(`${prefix}REPLICA_ACKS`);
  return {
    kind: 'redis',
    url,
    keyPrefix: settings.text(`${prefix}KEY_PREFIX`, '', 'paymaster:'),
    durability: settings.oneOf(`${prefix}DURABILITY`, ['always', 'none'], 'always'),
    ...(acks === undefined
      ? {}
      : { replicaAcks: settings.integer(`${prefix}REPLICA_ACKS`, { min: 0, max: 16 }, 0) }),
    credentials: {
      ...file(settings, 'usernameFile', 'USERNAME_FILE'),
      ...file(settings, 'passwordFile', 'PASSWORD_FILE'),
      ...file(settings, 'sentinelUsernameFile', 'SENTINEL_USERNAME_FILE'),
      ...file(settings, 'sentinelPasswordFile', 'SENTINEL_PASSWORD_FILE'),
    },
    tls: {
      ...file(settings, 'caFile', 'CA_FILE'),
      ...file(settings, 'certFile', 'CERT_FILE'),
      ...file(settings, 'keyFile', 'KEY_FILE'),
      ...file(settings, 'serverName', 'TLS_SERVER_NAME'),
    },
  };
}

function checkAddress(settings: Settings, url: string): void {
  try {
    parseRedisAddress(`${prefix}URL`, url);
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    for (const { field, expected, value } of error.details.problems ?? [])
      settings.mistake(field, expected, value);
  }
}

function file<Name extends string>(
  settings: Settings,
  name: Name,
  variable: string,
): Readonly<Partial<Record<Name, string>>> {
  const value = settings.optional(prefix + variable);
  const entry: Partial<Record<Name, string>> = {};
  if (value !== undefined) entry[name] = value;
  return entry;
}
