import { parsePostgresUrl, type PostgresAddress } from '../postgres/address.js';
import { DomainError } from '../../core/errors.js';
import { oneOf, optional, text, type Settings } from '../../core/settings.js';
import { given } from '../../core/units/given.js';

/** Which usage store a process uses, and how to connect to it. */
export type UsageSettings = Readonly<ReturnType<typeof readUsageSettings>>;

const prefix = 'PAYMASTER_DATABASE_';

/** A password and certificates may also be files, which are read again for each connection. */
export const usageSettings = {
  url: text(`${prefix}URL`, 'postgresql://USER@HOST/DATABASE, or file:/PATH for a single process'),
  passwordFile: optional(`${prefix}PASSWORD_FILE`, 'The file with the password.'),
  caFile: optional(
    `${prefix}CA_FILE`,
    'The file with the certificates of authorities; absent: the well-known ones.',
  ),
  certFile: optional(`${prefix}CERT_FILE`, 'The file with our certificate; needs the next one.'),
  keyFile: optional(`${prefix}KEY_FILE`, 'The file with the key of that certificate.'),
  durability: oneOf(
    'PAYMASTER_DURABILITY',
    'What an embedded store survives: loss of power, at a sync for each turn, or only that its process is killed.',
    ['power', 'process'],
    'power',
  ),
};

/** The address is not quoted in messages: it may hold a password. */
export function readUsageSettings(settings: Settings) {
  const { url, passwordFile, durability, ...files } = settings.read(usageSettings);
  if (url.startsWith('file:')) {
    const path = url.slice('file:'.length).replace(/^\/\/\//, '/');
    if (!path.startsWith('/')) settings.mistake(`${prefix}URL`, 'an absolute path after file:', url);
    return { kind: 'embedded' as const, path, durability };
  }
  const address = url === '' ? nowhere : readAddress(settings, url);
  const tls = { ...address.tls, ...files };
  if ((tls.certFile === undefined) !== (tls.keyFile === undefined))
    settings.mistake(`${prefix}CERT_FILE and ${prefix}KEY_FILE`, 'given together');
  return { kind: 'postgres' as const, address: { ...address, tls }, ...given({ passwordFile }) };
}

function readAddress(settings: Settings, url: string): PostgresAddress {
  try {
    return parsePostgresUrl(`${prefix}URL`, url);
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    for (const { field, expected, value } of error.details.problems ?? [])
      settings.mistake(field, expected, value);
    return nowhere;
  }
}

/** Stands for an address that is wrong, until all mistakes are reported together. */
const nowhere: PostgresAddress = { host: '', port: 0, database: '', user: '', tls: { mode: 'verify-full' } };
