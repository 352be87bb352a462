import { invalidInput, quote, type Problem } from '../../core/errors.js';

/**
 * How the server proves who it is. `verify-full`: its certificate is by a trusted authority and names the host.
 * `verify-ca`: the authority alone. `require`: encrypted, to anyone. `disable`: not encrypted.
 */
const tlsModes = ['verify-full', 'verify-ca', 'require', 'disable'] as const;
type TlsMode = (typeof tlsModes)[number];

/** Where the ledger's database is, and who asks. Without secrets, except `password`. */
export type PostgresAddress = {
  /** Name or address of the server, or the directory of its Unix socket (begins with `/`). */
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
  /** From the URL; a password file is used before it. */
  readonly password?: string;
  readonly tls: PostgresTls;
};

/** Files are read again before each connection, so that a rotated certificate is found. */
type PostgresTls = {
  readonly mode: TlsMode;
  /** Authorities that are trusted; absent: those of the system. */
  readonly caFile?: string;
  readonly certFile?: string;
  readonly keyFile?: string;
};

const form =
  'postgresql://USER[:PASSWORD]@HOST[:PORT]/DATABASE[?sslmode=…&sslrootcert=FILE&sslcert=FILE&sslkey=FILE]';
const defaultPort = 5432;

/**
 * Parses the URL that PostgreSQL's own tools take, as far as this client supports it. Without `sslmode` a connection
 * over TCP is `verify-full`. Throws INVALID_INPUT naming `field`; no message holds the URL, which may have a password.
 */
export function parsePostgresUrl(field: string, text: string): PostgresAddress {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !['postgresql:', 'postgres:'].includes(url.protocol) || url.hash !== '')
    throw invalidInput({ field, expected: form });
  const problems: Problem[] = [];
  const part = (name: string, encoded: string): string => {
    const value = decoded(encoded);
    if (value === undefined || value.includes('\0'))
      problems.push({ field: `${field}: ${name}`, expected: 'percent-encoded UTF-8 without a zero byte' });
    return value ?? '';
  };
  const given = parseParameters(field, url, problems);
  const host = given.get('host') ?? part('host', url.hostname).replace(/^\[|\]$/g, '');
  const port = Number(url.port === '' ? defaultPort : url.port);
  const user = part('user', url.username);
  const database = part('database', url.pathname.slice(1));
  const password = part('password', url.password);
  const need = (name: string, isThere: boolean): void => {
    if (!isThere) problems.push({ field: `${field}: ${name}`, expected: `given, as in ${form}` });
  };
  need('host', host !== '');
  need('user', user !== '');
  need('database', database !== '' && !database.includes('/'));
  const tls = parseTls(field, host, given, problems);
  if (problems.length > 0) throw invalidInput(problems);
  return { host, port, database, user, ...(password === '' ? {} : { password }), tls };
}

const parameters = ['host', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey'] as const;

/** Parameters by name. One that is not supported is a mistake: leaving it out could turn off what it asks for. */
function parseParameters(field: string, url: URL, problems: Problem[]): ReadonlyMap<string, string> {
  const given = new Map<string, string>();
  for (const [name, value] of url.searchParams) {
    const isKnown = parameters.some((known) => known === name);
    if (!isKnown || given.has(name) || value === '' || value.includes('\0'))
      problems.push({
        field: `${field}: parameter ${quote(name)}`,
        expected: `one of ${parameters.join(', ')}, once and with a value`,
      });
    given.set(name, value);
  }
  return given;
}

function parseTls(
  field: string,
  host: string,
  given: ReadonlyMap<string, string>,
  problems: Problem[],
): PostgresTls {
  const isSocket = host.startsWith('/');
  const asked = given.get('sslmode') ?? (isSocket ? 'disable' : 'verify-full');
  const mode = tlsModes.find((known) => known === asked);
  const caFile = given.get('sslrootcert');
  const certFile = given.get('sslcert');
  const keyFile = given.get('sslkey');
  if (mode === undefined || (isSocket && mode !== 'disable'))
    problems.push({
      field: `${field}: sslmode`,
      expected: isSocket ? '"disable" or absent for a Unix socket' : tlsModes.join(', '),
      value: quote(asked),
    });
  if ((certFile === undefined) !== (keyFile === undefined))
    problems.push({ field: `${field}: sslcert and sslkey`, expected: 'given together' });
  return {
    mode: mode ?? 'verify-full',
    ...(caFile === undefined ? {} : { caFile }),
    ...(certFile === undefined ? {} : { certFile }),
    ...(keyFile === undefined ? {} : { keyFile }),
  };
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** For messages and logs: never the password. */
export function formatPostgresAddress({ host, port, database }: PostgresAddress): string {
  return `PostgreSQL database ${quote(database)} at ${host.includes(':') ? `[${host}]` : host}:${port}`;
}
