import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parsePostgresUrl } from '../../../../adapters/postgres/address.js';
import { createPostgres, type Postgres } from '../../../../adapters/postgres/transactions.js';
import { openDatabase, type Database } from '../../../../adapters/sqlite/database.js';
import { makeParts, migratePostgresLedger } from '../../../../adapters/store/ledger/partitions.js';
import { toDecision, toGap, toSettlement, type Row } from '../../../../adapters/store/ledger/record-rows.js';
import { migrateSqliteLedger } from '../../../../adapters/store/ledger/sqlite-tables.js';
import { createSqliteLedgerWriter, ledgerStatements } from '../../../../adapters/store/ledger/write.js';
import type { LedgerEntry } from '../../../../core/ledger/ledger.js';
import type { Hex } from '../../../../core/units/hex.js';
import type { EpochMs } from '../../../../core/units/time.js';
import {
  aDecision,
  aGap,
  alone,
  aRefusal,
  aReversal,
  aSample,
  aSettlement,
  at,
  hex,
  reservationOf,
} from '../../../conformance/ledger-records.js';
import { sharedPostgres, type SharedPostgres } from '../../../support/postgres.js';

const noon = at('2026-11-22T12:00:00Z');

/** Both databases, as a turn writes them. */
type Written = {
  write(entries: readonly LedgerEntry[]): Promise<void>;
  read(table: string): Promise<readonly Row[]>;
};

let server: SharedPostgres;
let postgres: Postgres;
let sqlite: Database;
let databases: Record<'PostgreSQL' | 'SQLite', Written>;

beforeAll(async () => {
  server = await sharedPostgres();
  postgres = createPostgres({ address: parsePostgresUrl('url', await server.createDatabase()) });
  await migratePostgresLedger(postgres, noon);
  sqlite = openDatabase(':memory:', { durability: 'process' });
  migrateSqliteLedger(sqlite);
  const writer = createSqliteLedgerWriter(sqlite);
  databases = {
    PostgreSQL: {
      write: (entries) =>
        postgres.transaction({ mode: 'write', timeoutMs: 10_000 }, async (session) => {
          for (const { text, values } of ledgerStatements(entries)) await session.query(text, values);
        }),
      read: (table) =>
        postgres.transaction({ mode: 'read', timeoutMs: 10_000 }, (session) =>
          session.query(`SELECT * FROM ledger.${table} ORDER BY day`),
        ),
    },
    SQLite: {
      write: async (entries) => sqlite.transaction(() => writer.write(entries)),
      read: async (table) => sqlite.sql.prepare(`SELECT * FROM ledger_${table} ORDER BY day`).all(),
    },
  };
});
afterAll(async () => {
  await postgres.stop();
  sqlite.close();
  await server.stop();
});

const hostile = 'zero \0, half a pair \ud800, its other half \udc00, a backslash \\u0000, \u2028 and "\n\t';
const clean = 'zero \uFFFD, half a pair \uFFFD, its other half \uFFFD, a backslash \\u0000, \u2028 and "\n\t';

describe.each(['PostgreSQL', 'SQLite'] as const)('a ledger in %s', (name) => {
  const write = (entries: readonly LedgerEntry[]) => databases[name].write(entries);
  const read = (table: string) => databases[name].read(table);

  test('takes any text that somebody else chooses, in every column, and what it cannot hold becomes U+FFFD', async () => {
    const own = {
      organisation: hostile,
      paymasterId: hostile,
      method: hostile,
      requestId: hostile,
      callerRequestId: hostile,
      reason: hostile,
      detail: hostile.repeat(500),
      calls: [{ target: hex(20, 1) as never, selector: '0x' as Hex, contractId: hostile, name: hostile }],
      policies: [{ policyId: hostile, effect: 'refused' as const }],
    };
    const refusal = aRefusal(hostile, noon, own);
    const gap = aGap(hostile, noon, { paymasterId: hostile, reason: hostile });
    await write(alone(refusal, gap));
    expect((await read('decision')).map(toDecision)).toEqual([
      {
        ...refusal,
        organisation: clean,
        paymasterId: clean,
        method: clean,
        requestId: clean,
        callerRequestId: clean,
        reason: clean,
        detail: clean.repeat(500),
        calls: [{ ...own.calls[0], contractId: clean, name: clean }],
        policies: [{ policyId: clean, effect: 'refused' }],
      },
    ]);
    expect((await read('gap')).map(toGap)).toEqual([
      { ...gap, organisation: clean, paymasterId: clean, reason: clean },
    ]);
  });

  test('takes any time and amount that a node tells, and an entry twice is an entry once', async () => {
    const largest = 2n ** 256n - 1n;
    const decision = aDecision('acme', noon, { nonce: largest, maxCostWei: largest });
    const token = { address: hex(20, 3) as never, amount: largest, decimals: 255 };
    const endless = aSettlement(decision, noon, { actualGasCostWei: largest, token });
    const entries = reservationOf(
      decision,
      { ...endless, at: (10 ** 15) as EpochMs },
      aReversal(decision, noon),
    );
    await write(entries);
    await write(entries);
    const settlements = (await read('settlement')).map(toSettlement);
    expect(settlements).toHaveLength(2);
    expect(settlements).toContainEqual({ ...endless, at: Date.UTC(9999, 11, 31) });
    expect((await read('decision')).map(toDecision)).toContainEqual(decision);
  });

  test('refuses an id that is not one of ours', async () => {
    await expect(write(alone({ ...aRefusal('acme', noon), id: "' OR 1=1" }))).rejects.toMatchObject({
      code: 'INVALID_INPUT',
    });
  });
});

test('PostgreSQL leaves out samples of a day that has no part, and refuses decisions of such a day', async () => {
  const later = at('2027-11-22T12:00:00Z');
  const decision = aDecision('acme', later);
  await databases.PostgreSQL.write(alone(aSample(hex(20, 5) as never, later)));
  await expect(databases.PostgreSQL.write(reservationOf(decision))).rejects.toThrow(/partition/);
  await makeParts(postgres, ['decision'], [later]);
  await databases.PostgreSQL.write(reservationOf(decision));
  const days = (await databases.PostgreSQL.read('funds')).map(({ day }) => Number(day));
  expect(days).not.toContain(Math.floor(later / 86_400_000));
});
