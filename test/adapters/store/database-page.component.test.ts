import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parsePostgresUrl } from '../../../adapters/postgres/address.js';
import { copyStore } from '../../../adapters/store/copy/copy-store.js';
import { createPostgresLedger } from '../../../adapters/store/ledger/postgres-ledger.js';
import { createSqliteUsageStore } from '../../../adapters/store/sqlite/usage.js';
import { openPostgresUsageStore } from '../../../adapters/store/postgres/usage.js';
import { rollupUnits } from '../../../core/ledger/steps.js';
import { silentLogger } from '../../../core/log.js';
import { systemClock, toSeconds, type EpochMs } from '../../../core/units/time.js';
import { aDecision } from '../../conformance/ledger-records.js';
import { aRequest } from '../../conformance/usage-requests.js';
import { startPostgres, type PostgresServer } from '../../support/postgres.js';
import { repositoryRoot } from '../../support/repository-root.js';
import { aDirectory } from '../usage/sqlite-usage.js';

// The roles of docs/database.md, made by its statements.

const page = readFileSync(join(repositoryRoot, 'docs/database.md'), 'utf8');
const [roles = '', rights = '', reader = ''] = [...page.matchAll(/```sql\n(.*?)```/gs)].map(([, sql]) => sql);
/** One by one: making a database must not be part of several statements. */
const statementsOf = (sql: string): readonly string[] => sql.split(';\n').filter((text) => text !== '');

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
  for (const statement of statementsOf(roles)) await server.query(server.url, statement);
  for (const statement of statementsOf(rights)) await server.query(urlOf('postgres'), statement);
});
afterAll(() => server?.stop());

const urlOf = (user: string): string =>
  `postgresql://${user}:${encodeURIComponent('…')}@127.0.0.1:${server.port}/paymaster?sslmode=disable`;
const addressOf = (user: string) => parsePostgresUrl('url', urlOf(user));

const open = (user: string) =>
  openPostgresUsageStore({ client: { address: addressOf(user) }, identity: user, log: silentLogger });

test('an embedded store is copied, rows are written by either login, and people can only read', async () => {
  const directory = aDirectory();
  try {
    const path = join(directory.path, 'usage.db');
    await createSqliteUsageStore({
      path,
      durability: 'power',
      clock: systemClock,
      log: silentLogger,
    }).stop();
    const client = { address: addressOf('paymaster_b') };
    await copyStore({ path, client, now: systemClock.now(), onProgress: () => {} });
  } finally {
    directory.remove();
  }
  for (const [nonce, user] of ['paymaster_a', 'paymaster_b'].entries()) {
    const store = await open(user);
    try {
      const now = systemClock.now();
      const request = aRequest({
        key: { nonce: BigInt(nonce) },
        promise: { validUntil: toSeconds((now + 300_000) as EpochMs) },
      });
      expect(await store.reserve({ ...request, record: aDecision('acme', now) })).toEqual({
        outcome: 'reserved',
      });
    } finally {
      await store.stop();
    }
  }
  for (const statement of statementsOf(reader)) await server.query(urlOf('postgres'), statement);
  expect(await server.query(urlOf('paymaster_reader'), 'SELECT id FROM ledger.decision')).toHaveLength(2);
  const writing = server.query(urlOf('paymaster_reader'), 'DELETE FROM ledger.decision');
  await expect(writing).rejects.toThrow(/read-only transaction/);
});

test('who writes rows has no right to change tables, and the parts of the coming week are made by the owner', async () => {
  await (await open('paymaster_a')).stop();
  for (const statement of [
    'CREATE TABLE usage.another (id integer)',
    'CREATE SCHEMA another',
    'ALTER TABLE usage.counter ADD another integer',
    'TRUNCATE usage.counter',
    'DROP TABLE usage.counter',
    'DROP SCHEMA ledger CASCADE',
  ])
    await expect(server.query(urlOf('paymaster_a'), statement)).rejects.toThrow(
      /permission denied|must be owner/,
    );

  const inAWeek = (systemClock.now() + 7 * rollupUnits.day) as EpochMs;
  const part = `decision_${new Date(inAWeek).toISOString().slice(0, 10).replaceAll('-', '')}`;
  const ownersOf = (name: string) =>
    server.query(urlOf('postgres'), `SELECT tableowner FROM pg_tables WHERE tablename = '${name}'`);
  expect(await ownersOf(part)).toEqual([]);
  const ledger = createPostgresLedger({ address: addressOf('paymaster_a'), clock: systemClock });
  try {
    while (await ledger.prune(systemClock.now()));
    expect(await ownersOf(part)).toEqual([{ tableowner: 'paymaster' }]);
    while (await ledger.rollUp());
    // Years later all of them are too old.
    const later = (systemClock.now() + 2_000 * rollupUnits.day) as EpochMs;
    while (await ledger.prune(later));
    expect(await ownersOf(part)).toEqual([]);
  } finally {
    await ledger.stop();
  }
});
