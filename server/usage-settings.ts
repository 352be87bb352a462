import { parseRedisAddress } from '../adapters/redis/address.js';
import { DomainError } from '../core/errors.js';
import type { Settings } from '../core/settings.js';
import { given } from '../core/units/given.js';

/** Which usage store a process uses, and how to connect to it. */
export type UsageSettings = Readonly<ReturnType<typeof readUsageSettings>>;

const prefix = 'PAYMASTER_USAGE_STORE_';

/** `file:/PATH` for the embedded store of one process, or an address of Redis. Credentials and certificates are files. */
export function readUsageSettings(settings: Settings) {
  const url = settings.text(`${prefix}URL`, 'redis://HOST:PORT, or file:/PATH for a single process');
  if (url.startsWith('file:')) {
    const path = url.slice('file:'.length).replace(/^\/\/\//, '/');
    if (!path.startsWith('/')) settings.mistake(`${prefix}URL`, 'an absolute path after file:', url);
    return { kind: 'embedded', path } as const;
  }
  if (url !== '') checkAddress(settings, url);
  const optional = (name: string): string | undefined => settings.optional(prefix + name);
  const hasAcks = optional('REPLICA_ACKS') !== undefined;
  return {
    kind: 'redis' as const,
    url,
    keyPrefix: settings.text(`${prefix}KEY_PREFIX`, '', 'paymaster:'),
    durability: settings.oneOf(`${prefix}DURABILITY`, ['always', 'none'], 'always'),
    ...(hasAcks && { replicaAcks: settings.integer(`${prefix}REPLICA_ACKS`, { min: 0, max: 16 }, 0) }),
    credentials: given({
      usernameFile: optional('USERNAME_FILE'),
      passwordFile: optional('PASSWORD_FILE'),
      sentinelUsernameFile: optional('SENTINEL_USERNAME_FILE'),
      sentinelPasswordFile: optional('SENTINEL_PASSWORD_FILE'),
    }),
    tls: given({
      caFile: optional('CA_FILE'),
      certFile: optional('CERT_FILE'),
      keyFile: optional('KEY_FILE'),
      serverName: optional('TLS_SERVER_NAME'),
    }),
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
