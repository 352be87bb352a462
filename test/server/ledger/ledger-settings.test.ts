import { describe, expect, test } from '@jest/globals';
import { defaultRetention } from '../../../core/ledger/ledger.js';
import { Settings } from '../../../core/settings.js';
import { readLedgerStore } from '../../../server/ledger-settings.js';

function read(values: Readonly<Record<string, string>>) {
  const settings = new Settings(values);
  const store = readLedgerStore(settings);
  return settings.finish(store);
}

describe('where the ledger is', () => {
  test('files of this process', () => {
    expect(read({ PAYMASTER_LEDGER_URL: 'file:/data', PAYMASTER_LEDGER_RETENTION_DAYS: '30' })).toEqual({
      kind: 'sqlite',
      maxBytes: 10_000_000_000,
      directory: '/data',
      retention: { ...defaultRetention, decisions: 30 },
    });
  });

  test('PostgreSQL, with the password and the certificates in files', () => {
    expect(
      read({
        PAYMASTER_LEDGER_URL: 'postgresql://app@db/ledger?sslrootcert=/of-the-url',
        PAYMASTER_LEDGER_PASSWORD_FILE: '/password',
        PAYMASTER_LEDGER_CA_FILE: '/ca',
        PAYMASTER_LEDGER_CERT_FILE: '/cert',
        PAYMASTER_LEDGER_KEY_FILE: '/key',
      }),
    ).toEqual({
      kind: 'postgres',
      address: {
        host: 'db',
        port: 5432,
        database: 'ledger',
        user: 'app',
        tls: { mode: 'verify-full', caFile: '/ca', certFile: '/cert', keyFile: '/key' },
      },
      passwordFile: '/password',
      retention: defaultRetention,
    });
  });

  test.each([
    { name: 'no address', values: {}, says: /PAYMASTER_LEDGER_URL must be set/ },
    {
      name: 'another store',
      values: { PAYMASTER_LEDGER_URL: 'mysql://app:secret@db/x' },
      says: /postgresql:\/\//,
    },
    { name: 'a relative path', values: { PAYMASTER_LEDGER_URL: 'file:data' }, says: /absolute path/ },
    {
      name: 'two mistakes at once',
      values: {
        PAYMASTER_LEDGER_URL: 'postgres://app:secret@db/x?sslmode=prefer',
        PAYMASTER_LEDGER_RETENTION_DAYS: '0',
      },
      says: /sslmode must be[^]*RETENTION_DAYS|RETENTION_DAYS[^]*sslmode must be/,
    },
    {
      name: 'a key without its certificate',
      values: { PAYMASTER_LEDGER_URL: 'postgres://app:secret@db/x', PAYMASTER_LEDGER_KEY_FILE: '/key' },
      says: /PAYMASTER_LEDGER_CERT_FILE and PAYMASTER_LEDGER_KEY_FILE must be given together/,
    },
  ])('$name is refused without showing a password', ({ values, says }) => {
    let message = '';
    try {
      read(values);
    } catch (error) {
      message = String(error);
    }
    expect(message).toMatch(says);
    expect(message).not.toContain('secret');
  });
});
