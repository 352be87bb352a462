import { usualMaxBytes } from '../adapters/ledger/sqlite/ledger.js';
import { parsePostgresUrl, type PostgresAddress } from '../adapters/postgres/address.js';
import { DomainError } from '../core/errors.js';
import { defaultRetention, type Retention } from '../core/ledger/ledger.js';
import type { Settings } from '../core/settings.js';
import { given } from '../core/units/given.js';
import { usualRefusalsPerSecond } from './ledger/refusal-records.js';

/** Records that wait for the ledger, as every process that makes or moves them sees it. */
export type LedgerRoom = {
  /** Bytes of all chains together. Absent: the usage store's default. */
  readonly budgetBytes?: number;
  /** What happens without room: nothing is signed, or signing goes on and is counted. */
  readonly onFull: 'Stop' | 'Sign';
};

/** Where the ledger is, and how long it keeps what. */
export type LedgerStoreSettings = Readonly<ReturnType<typeof readLedgerStore>>;

const prefix = 'PAYMASTER_LEDGER';
const mebibyte = 1_048_576;

/** What a process of the rpc role records. */
export type RecordingSettings = LedgerRoom & {
  /** Whether also what each decision was based on, for replays. */
  readonly inputs: boolean;
  readonly refusalsPerSecond: number;
};

/** Undefined: this process makes no records. They need a process of the role ledger, which moves them. */
export function readRecording(settings: Settings): RecordingSettings | undefined {
  const isOn = settings.oneOf(prefix, ['on', 'off'], 'off') === 'on';
  const room = readRoom(settings);
  const inputs = settings.oneOf(`${prefix}_INPUTS`, ['on', 'off'], 'off') === 'on';
  const refusalsPerSecond = readRefusalsPerSecond(settings);
  return isOn ? { ...room, inputs, refusalsPerSecond } : undefined;
}

/** Refusals that are recorded of a paymaster and reason; the others are counted. */
export function readRefusalsPerSecond(settings: Settings): number {
  return settings.integer(`${prefix}_REFUSALS_PER_SECOND`, { min: 1, max: 1_000 }, usualRefusalsPerSecond);
}

/** Of a ledger in files. */
export function readLedgerMaxBytes(settings: Settings): number {
  return settings.integer(`${prefix}_MAX_BYTES`, { min: 10_000_000, max: 1e15 - 1 }, usualMaxBytes);
}

export function readRoom(settings: Settings): LedgerRoom {
  const budget = settings.optional(`${prefix}_BUDGET_MIB`);
  const mebibytes = settings.integer(`${prefix}_BUDGET_MIB`, { min: 1, max: 1_048_576 }, 0);
  return {
    ...given({ budgetBytes: budget === undefined ? undefined : mebibytes * mebibyte }),
    onFull: settings.oneOf(`${prefix}_ON_FULL`, ['Stop', 'Sign'], 'Stop'),
  };
}

/**
 * `postgresql://…`, or `file:/DIRECTORY`. Not quoted in messages: an address may hold a password. A password and
 * certificates may also be files, which are read again for each connection.
 */
export function readLedgerStore(settings: Settings) {
  const name = `${prefix}_URL`;
  const url = settings.text(
    name,
    'postgresql://USER@HOST/DATABASE, or file:/DIRECTORY on a volume of this process alone',
  );
  const retention = readRetention(settings);
  if (/^postgres(ql)?:/.test(url)) {
    const passwordFile = settings.optional(`${prefix}_PASSWORD_FILE`);
    const address = readAddress(settings, name, url);
    return { kind: 'postgres' as const, address, ...given({ passwordFile }), retention };
  }
  const directory = url.slice('file:'.length).replace(/^\/\/\//, '/');
  if (url !== '' && !(url.startsWith('file:') && directory.startsWith('/')))
    settings.mistake(name, 'file: and an absolute path, or an address that begins with postgresql://');
  return { kind: 'sqlite' as const, directory, retention, maxBytes: readLedgerMaxBytes(settings) };
}

/** Undefined: the dashboard role has no ledger to ask. */
export function readAskedLedger(settings: Settings): LedgerStoreSettings | undefined {
  if (settings.optional(`${prefix}_URL`) === undefined) return undefined;
  const store = readLedgerStore(settings);
  if (store.kind === 'sqlite')
    settings.mistake(
      `${prefix}_URL`,
      'an address that begins with postgresql://: a file is read only by the process that keeps it',
    );
  return store;
}

function readAddress(settings: Settings, name: string, url: string): PostgresAddress {
  const file = (name: string): string | undefined => settings.optional(`${prefix}_${name}`);
  const files = given({ caFile: file('CA_FILE'), certFile: file('CERT_FILE'), keyFile: file('KEY_FILE') });
  try {
    const address = parsePostgresUrl(name, url);
    const tls = { ...address.tls, ...files };
    if ((tls.certFile === undefined) !== (tls.keyFile === undefined))
      settings.mistake(`${prefix}_CERT_FILE and ${prefix}_KEY_FILE`, 'given together');
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

function readRetention(settings: Settings): Retention {
  const days = (name: string, usual: number): number =>
    settings.integer(`${prefix}_${name}_DAYS`, { min: 1, max: 3_660 }, usual);
  return {
    decisions: days('RETENTION', defaultRetention.decisions),
    inputs: days('INPUTS_RETENTION', defaultRetention.inputs),
    funds: days('FUNDS_RETENTION', defaultRetention.funds),
  };
}
