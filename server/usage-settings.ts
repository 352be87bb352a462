import { parsePostgresUrl, type PostgresAddress } from '../adapters/postgres/address.js';
import { DomainError } from '../core/errors.js';
import type { Settings } from '../core/settings.js';
import { given } from '../core/units/given.js';

/** Which usage store a process uses, and how to connect to it. */
export type UsageSettings = Readonly<ReturnType<typeof readUsageSettings>>;

const prefix = 'PAYMASTER_DATABASE_';

/**
 * `file:/PATH` for the embedded store of one process, or an address of PostgreSQL. A password and certificates may also be files, which
 * are read again for each connection. The address is not quoted in messages: it may hold a password.
 */
export function readUsageSettings(settings: Settings) {
  nameRemoved(settings);
  const name = `${prefix}URL`;
  const url = settings.text(name, 'postgresql://USER@HOST/DATABASE, or file:/PATH for a single process');
  if (url.startsWith('file:')) {
    const path = url.slice('file:'.length).replace(/^\/\/\//, '/');
    if (!path.startsWith('/')) settings.mistake(name, 'an absolute path after file:', url);
    return { kind: 'embedded' as const, path, durability: readDurability(settings) };
  }
  const passwordFile = settings.optional(`${prefix}PASSWORD_FILE`);
  const address = url === '' ? nowhere : readAddress(settings, name, url);
  return { kind: 'postgres' as const, address, ...given({ passwordFile }) };
}

/** What an embedded store survives: loss of power, at a sync for each turn, or only that its process is killed. */
export function readDurability(settings: Settings): 'power' | 'process' {
  return settings.oneOf('PAYMASTER_DURABILITY', ['power', 'process'], 'power');
}

function readAddress(settings: Settings, name: string, url: string): PostgresAddress {
  const file = (of: string): string | undefined => settings.optional(`${prefix}${of}_FILE`);
  try {
    const address = parsePostgresUrl(name, url);
    const tls = {
      ...address.tls,
      ...given({ caFile: file('CA'), certFile: file('CERT'), keyFile: file('KEY') }),
    };
    if ((tls.certFile === undefined) !== (tls.keyFile === undefined))
      settings.mistake(`${prefix}CERT_FILE and ${prefix}KEY_FILE`, 'given together');
    return { ...address, tls };
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    for (const { field, expected, value } of error.details.problems ?? [])
      settings.mistake(field, expected, value);
    return nowhere;
  }
}

/** Stands for an address that is wrong, until all mistakes are reported together. */
const nowhere: PostgresAddress = { host: '', port: 0, database: '', user: '', tls: { mode: 'verify-full' } };

/** Settings of former versions, and what to set instead. If one were ignored, operations could be signed without the protection that it asked for. */
const removed: Readonly<Record<string, string>> = {
  PAYMASTER_USAGE_STORE_URL: 'set PAYMASTER_DATABASE_URL',
  PAYMASTER_USAGE_STORE_PASSWORD_FILE: 'set PAYMASTER_DATABASE_PASSWORD_FILE',
  PAYMASTER_USAGE_STORE_CA_FILE: 'set PAYMASTER_DATABASE_CA_FILE',
  PAYMASTER_USAGE_STORE_CERT_FILE: 'set PAYMASTER_DATABASE_CERT_FILE',
  PAYMASTER_USAGE_STORE_KEY_FILE: 'set PAYMASTER_DATABASE_KEY_FILE',
  PAYMASTER_USAGE_STORE_USERNAME_FILE: 'the user is part of PAYMASTER_DATABASE_URL',
  PAYMASTER_USAGE_STORE_SENTINEL_USERNAME_FILE: 'PAYMASTER_DATABASE_URL names the primary',
  PAYMASTER_USAGE_STORE_SENTINEL_PASSWORD_FILE: 'PAYMASTER_DATABASE_URL names the primary',
  PAYMASTER_USAGE_STORE_TLS_SERVER_NAME: 'the host of PAYMASTER_DATABASE_URL is the name in the certificate',
  PAYMASTER_USAGE_STORE_KEY_PREFIX: 'each installation needs a separate database, see PAYMASTER_DATABASE_URL',
  PAYMASTER_USAGE_STORE_DURABILITY:
    'PostgreSQL has its own settings for durability, and is refused when it may lose writes',
  PAYMASTER_USAGE_STORE_REPLICA_ACKS: 'set synchronous_standby_names in PostgreSQL',
  PAYMASTER_LEDGER_URL: 'the ledger is in the database of PAYMASTER_DATABASE_URL',
  PAYMASTER_LEDGER_PASSWORD_FILE: 'set PAYMASTER_DATABASE_PASSWORD_FILE',
  PAYMASTER_LEDGER_CA_FILE: 'set PAYMASTER_DATABASE_CA_FILE',
  PAYMASTER_LEDGER_CERT_FILE: 'set PAYMASTER_DATABASE_CERT_FILE',
  PAYMASTER_LEDGER_KEY_FILE: 'set PAYMASTER_DATABASE_KEY_FILE',
  PAYMASTER_LEDGER_BUDGET_MIB: 'set PAYMASTER_LEDGER_MAX_BYTES, which limits the size of the ledger',
  PAYMASTER_LEDGER_ON_FULL: 'a decision and its record are written together, or neither is',
};

function nameRemoved(settings: Settings): void {
  for (const [name, instead] of Object.entries(removed)) settings.removed(name, instead);
}
