import { describe, expect, test } from '@jest/globals';
import { formatPostgresAddress, parsePostgresUrl } from '../../../adapters/postgres/address.js';

const parse = (text: string) => parsePostgresUrl('PAYMASTER_LEDGER_URL', text);

describe('the URL of the ledger in PostgreSQL', () => {
  test('has defaults for the port, and for TLS the strictest', () => {
    expect(parse('postgresql://app@db.example/ledger')).toEqual({
      host: 'db.example',
      port: 5432,
      database: 'ledger',
      user: 'app',
      tls: { mode: 'verify-full' },
    });
  });

  test('says where the server is, who asks, and how both prove it', () => {
    const url =
      'postgres://us%40er:p%2Fw%3A@[2001:db8::1]:6432/my%20ledger?sslmode=verify-ca&sslrootcert=/ca.pem&sslcert=/c.pem&sslkey=/k.pem';
    expect(parse(url)).toEqual({
      host: '2001:db8::1',
      port: 6432,
      database: 'my ledger',
      user: 'us@er',
      password: 'p/w:',
      tls: { mode: 'verify-ca', caFile: '/ca.pem', certFile: '/c.pem', keyFile: '/k.pem' },
    });
  });

  test('may name the directory of a Unix socket, which has no TLS', () => {
    const address = parse('postgresql://app@localhost/ledger?host=/run/postgresql');
    expect(address).toMatchObject({ host: '/run/postgresql', tls: { mode: 'disable' } });
    expect(() => parse('postgresql://app@localhost/ledger?host=/run&sslmode=require')).toThrow(/sslmode/);
  });

  test.each([
    { name: 'another protocol', url: 'mysql://app:secret@db/ledger', says: 'PAYMASTER_LEDGER_URL' },
    { name: 'no URL at all', url: 'secret', says: 'PAYMASTER_LEDGER_URL' },
    { name: 'a password that is not encoded', url: 'postgres://app:sec/ret@db/ledger', says: 'must be' },
    {
      name: 'a percent sign that encodes nothing',
      url: 'postgres://app:secret%@db/ledger',
      says: 'password',
    },
    { name: 'a zero byte', url: 'postgres://app:secret%00@db/ledger', says: 'password' },
    { name: 'no user', url: 'postgres://db/ledger', says: 'user must be given' },
    { name: 'no database', url: 'postgres://app:secret@db', says: 'database must be given' },
    {
      name: 'a mode that falls back to no TLS',
      url: 'postgres://app:secret@db/ledger?sslmode=prefer',
      says: 'sslmode',
    },
    {
      name: 'a setting that would be ignored',
      url: 'postgres://app:secret@db/ledger?options=secret',
      says: '"options"',
    },
    {
      name: 'a setting twice',
      url: 'postgres://a:secret@db/l?sslmode=disable&sslmode=require',
      says: '"sslmode"',
    },
    { name: 'a certificate without its key', url: 'postgres://a:secret@db/l?sslcert=/c.pem', says: 'sslkey' },
  ])('is refused with $name, by a message without the password', ({ url, says }) => {
    let message = '';
    try {
      parse(url);
    } catch (error) {
      message = String(error);
    }
    expect(message).toContain(says);
    expect(message).not.toMatch(/secret|sec\/ret/);
  });

  test('is shown without user and password', () => {
    expect(formatPostgresAddress(parse('postgres://app:secret@[::1]/ledger'))).toBe(
      'PostgreSQL database "ledger" at [::1]:5432',
    );
  });
});
