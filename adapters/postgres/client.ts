import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { checkServerIdentity, type ConnectionOptions } from 'node:tls';
import pg from 'pg';
import type { PostgresAddress } from './address.js';
import { invalidInput, isDomainError } from '../../core/errors.js';

export type ClientOptions = {
  readonly address: PostgresAddress;
  /** Read again before each connection, so that a rotated password is found. Used instead of the URL's. */
  readonly passwordFile?: string;
  /** Shown in the server's list of connections. Default `paymaster`. */
  readonly applicationName?: string;
};

/** SQLSTATEs of a server that goes down, or is not the primary: another connection may reach one that is. */
export const closing = /^(57P0|08|25006)/;

/** Whether a statement failed because of its connection: another connection may carry it out. */
export function isBroken(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return closing.test(error.code ?? '');
  const isMistake = isDomainError(error) || error instanceof TypeError || error instanceof RangeError;
  return error instanceof Error && !isMistake;
}

/** Where a connection goes and as whom, without secrets; see {@link createClientClass}. */
export function clientConfig({ address, applicationName = 'paymaster' }: ClientOptions): pg.ClientConfig {
  return {
    host: address.host,
    port: address.port,
    database: address.database,
    user: address.user,
    application_name: applicationName,
    keepAlive: true,
  };
}

/** A class of clients that read password and certificates again for each connection. */
export function createClientClass(options: ClientOptions): new (config?: pg.ClientConfig) => pg.Client {
  return class extends pg.Client {
    constructor(config?: pg.ClientConfig) {
      super({ ...config, password: () => readPassword(options), ssl: tlsOptions(options.address) });
    }
  };
}

function readPassword({ address, passwordFile }: ClientOptions): string {
  return passwordFile === undefined ? (address.password ?? '') : readText('passwordFile', passwordFile);
}

function tlsOptions({ host, tls }: PostgresAddress): ConnectionOptions | false {
  if (tls.mode === 'disable') return false;
  return {
    ...(tls.caFile === undefined ? {} : { ca: readText('sslrootcert', tls.caFile) }),
    ...(tls.certFile === undefined ? {} : { cert: readText('sslcert', tls.certFile) }),
    ...(tls.keyFile === undefined ? {} : { key: readText('sslkey', tls.keyFile) }),
    rejectUnauthorized: tls.mode !== 'require',
    minVersion: 'TLSv1.2',
    // The name is given here, because an address is not sent as a server name.
    checkServerIdentity: (_, certificate) =>
      tls.mode === 'verify-full' ? checkServerIdentity(host, certificate) : undefined,
    ...(isIP(host) === 0 ? { servername: host } : {}),
  };
}

/** A mounted file without its last line break. Throws INVALID_INPUT, which names the field, where it cannot be read. */
function readText(field: string, path: string): string {
  try {
    return readFileSync(path, 'utf8').replace(/\r?\n$/, '');
  } catch {
    throw invalidInput({ field, expected: 'a file that can be read', value: JSON.stringify(path) });
  }
}
