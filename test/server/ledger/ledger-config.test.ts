import { describe, expect, test } from '@jest/globals';
import { SettingsError } from '../../../core/settings.js';
import { parseServerConfig } from '../../../server/config.js';
import { parseLedgerConfig } from '../../../server/ledger-config.js';

const database = 'postgresql://app@db.example.com/paymaster';
const ledger = { PAYMASTER_DATABASE_URL: database, PAYMASTER_LEDGER_URL: 'file:/data/ledger' };
const rpc = {
  KUBERNETES_SERVICE_HOST: '10.0.0.1',
  KUBERNETES_SERVICE_PORT: '443',
  PAYMASTER_KEY_DIR: '/keys',
  PAYMASTER_SIGNER_DIR: '/signers',
  PAYMASTER_CHAIN_URL_DIR: '/chains',
  PAYMASTER_DATABASE_URL: database,
};

describe('the role ledger', () => {
  test('needs PostgreSQL and a place, no key and no Kubernetes', () => {
    expect(parseLedgerConfig(ledger)).toMatchObject({
      port: 8080,
      usage: { kind: 'postgres' },
      room: { onFull: 'Stop' },
      ledger: { directory: '/data/ledger', retention: { decisions: 400, inputs: 7, funds: 30 } },
    });
    expect(parseLedgerConfig({ ...ledger, PAYMASTER_OPS_PORT: '9090' }).port).toBe(9090);
  });

  test('reports all mistakes at once, says how to correct them, and quotes no address', () => {
    const wrong = {
      PAYMASTER_DATABASE_URL: 'file:/data/usage.sqlite',
      PAYMASTER_LEDGER_URL: 'mysql://user:secret@host/db',
      PAYMASTER_LEDGER_ON_FULL: 'Drop',
      PAYMASTER_LEDGER_BUDGET_MIB: '0',
      PAYMASTER_LEDGER_RETENTION_DAYS: 'forever',
    };
    expect(mistakesOf(() => parseLedgerConfig(wrong))).toEqual([
      expect.stringMatching(/^PAYMASTER_DATABASE_URL must be the address of the PostgreSQL/),
      'PAYMASTER_LEDGER_BUDGET_MIB must be a whole number from 1 to 1048576, got "0"',
      'PAYMASTER_LEDGER_ON_FULL must be one of Stop, Sign, got "Drop"',
      'PAYMASTER_LEDGER_RETENTION_DAYS must be a whole number from 1 to 3660, got "forever"',
      expect.stringMatching(/^PAYMASTER_LEDGER_URL must be (?!.*secret)/),
    ]);
  });
});

describe('the rpc role', () => {
  test('makes records only where the ledger is on', () => {
    expect(parseServerConfig(rpc).ledger).toBeUndefined();
    const on = {
      PAYMASTER_LEDGER: 'on',
      PAYMASTER_LEDGER_ON_FULL: 'Sign',
      PAYMASTER_LEDGER_BUDGET_MIB: '64',
      PAYMASTER_LEDGER_REFUSALS_PER_SECOND: '50',
    };
    expect(parseServerConfig({ ...rpc, ...on }).ledger).toEqual({
      inputs: false,
      refusalsPerSecond: 50,
      onFull: 'Sign',
      budgetBytes: 64 * 1_048_576,
    });
  });

  test('leaves the ledger alone, and the dashboard role asks it where it is given', () => {
    const url = { PAYMASTER_LEDGER_URL: 'postgres://reader@db.example/paymaster' };
    expect(parseServerConfig({ ...rpc, ...url }).askedLedger).toMatchObject({ kind: 'postgres' });
    expect(parseServerConfig({ ...rpc, ...url, PAYMASTER_ROLES: 'rpc' }).askedLedger).toBeUndefined();
    expect(parseServerConfig(rpc).askedLedger).toBeUndefined();
    expect(
      mistakesOf(() => parseServerConfig({ ...rpc, PAYMASTER_LEDGER_URL: 'file:/data/ledger' })),
    ).toEqual([
      expect.stringMatching(/^PAYMASTER_LEDGER_URL must be an address that begins with postgresql:/),
    ]);
  });

  test('cannot be in one process with the role ledger', () => {
    expect(mistakesOf(() => parseServerConfig({ ...rpc, PAYMASTER_ROLES: 'rpc,ledger' }))).toEqual([
      'PAYMASTER_ROLES must be a list of rpc, dashboard, or ledger alone, got "rpc,ledger"',
    ]);
  });
});

function mistakesOf(parse: () => unknown): readonly string[] {
  try {
    parse();
  } catch (error) {
    expect(error).toBeInstanceOf(SettingsError);
    return (error as SettingsError).message.split('\n').toSorted();
  }
  throw new Error('the settings were accepted');
}
