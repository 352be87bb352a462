import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parsePostgresUrl } from '../../../adapters/postgres/address.js';
import { openPostgresUsageStore } from '../../../adapters/store/postgres/usage.js';
import { silentLogger } from '../../../core/log.js';
import { startPostgres, type PostgresServer } from '../../support/postgres.js';
import { repositoryRoot } from '../../support/repository-root.js';

// The roles of docs/database.md, made by its statements.

const page = readFileSync(join(repositoryRoot, 'docs/database.md'), 'utf8');
const [roles = '', reader = ''] = [...page.matchAll(/```sql\n(.*?)```/gs)].map(([, sql]) => sql);
/** One by one: making a database must not be part of several statements. */
const statementsOf = (sql: string): readonly string[] => sql.split(';\n').filter((text) => text !== '');

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
}, 120_000);
afterAll(() => server?.stop());

const urlOf = (user: string): string =>
  `postgresql://${user}:${encodeURIComponent('…')}@127.0.0.1:${server.port}/paymaster?sslmode=disable`;

test('either login makes and uses the tables without being a superuser, and people can only read', async () => {
  for (const statement of statementsOf(roles)) await server.query(server.url, statement);
  for (const user of ['paymaster_a', 'paymaster_b']) {
    const store = await openPostgresUsageStore({
      client: { address: parsePostgresUrl('url', urlOf(user)) },
      identity: user,
      log: silentLogger,
    });
    await store.ping();
    await store.stop();
  }
  await server.query(urlOf('paymaster_a'), 'CREATE SCHEMA IF NOT EXISTS ledger');
  for (const statement of statementsOf(reader)) await server.query(urlOf('postgres'), statement);
  await server.query(urlOf('paymaster_b'), 'CREATE TABLE ledger.made_later (id integer)');
  expect(await server.query(urlOf('paymaster_reader'), 'SELECT * FROM ledger.made_later')).toEqual([]);
  const writing = server.query(urlOf('paymaster_reader'), 'INSERT INTO ledger.made_later VALUES (1)');
  await expect(writing).rejects.toThrow(/read-only transaction/);
}, 120_000);
