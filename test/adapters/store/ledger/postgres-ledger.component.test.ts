import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { movementConformance } from '../../../conformance/ledger-movements.js';
import { ledgerConformance } from '../../../conformance/ledger.js';
import { ledgerStatements } from '../../../../adapters/store/ledger/write.js';
import { startPostgres, type PostgresServer } from '../../../support/postgres.js';
import type { LedgerEntry } from '../../../../core/ledger/ledger.js';
import type { UsageRow } from '../../../../core/ledger/query.js';
import type { EpochMs } from '../../../../core/units/time.js';
import {
  aDecision,
  aGap,
  alone,
  anUnusedEnd,
  aReversal,
  aSample,
  aSettlement,
  at,
  reservationOf,
} from '../../../conformance/ledger-records.js';
import { repositoryRoot } from '../../../support/repository-root.js';
import { startProxy } from '../../usage/postgres-proxy.js';
import { openPostgresLedger, writePostgres, type WrittenLedger } from './written.js';

let server: PostgresServer;
const opened: WrittenLedger[] = [];

beforeAll(async () => {
  server = await startPostgres();
});
afterAll(async () => {
  await Promise.all(opened.map((ledger) => ledger.stop()));
  await server.stop();
});

ledgerConformance('PostgreSQL', async () => openPostgresLedger(await server.createDatabase('tables')));
movementConformance('PostgreSQL', async () => openPostgresLedger(await server.createDatabase('tables')));

test('a connection that broke while nobody used it fails no query', async () => {
  const proxy = await startProxy(await server.createDatabase());
  const ledger = openPostgresLedger(proxy.url);
  try {
    await ledger.append(alone(aGap('acme', at('2026-01-31T12:00:00Z'))));
    // Several connections of the pool that reads are there.
    await Promise.all([ledger.ping(), ledger.ping(), ledger.ping()]);
    proxy.breakAtNextUse();
    const query = { organisation: 'acme', from: at('2026-01-01T00:00:00Z'), to: at('2026-02-01T00:00:00Z') };
    expect((await ledger.decisions({ ...query, limit: 1 })).decisions).toEqual([]);
    await ledger.append(alone(aGap('acme', at('2026-01-31T12:00:00Z'))));
  } finally {
    await ledger.stop();
    await proxy.stop();
  }
});

const noon = at('2026-11-22T12:00:00Z');
const later = (ms: number): EpochMs => (noon + ms) as EpochMs;

async function open(url?: string) {
  const ledger = openPostgresLedger(url ?? (await server.createDatabase('tables')));
  opened.push(ledger);
  return ledger;
}

/** `count` operations that were signed and mined. */
function minedOperations(count: number): LedgerEntry[] {
  return [...Array(count).keys()].flatMap((index) => {
    const decision = aDecision('acme', later(index));
    return reservationOf(decision, aSettlement(decision, later(index + 5000)));
  });
}

async function total(ledger: WrittenLedger): Promise<UsageRow | undefined> {
  const rows = await ledger.usage({
    organisation: 'acme',
    paymasterId: undefined,
    from: at('2026-11-01T00:00:00Z'),
    to: at('2026-12-01T00:00:00Z'),
    step: 'month',
    groupBy: undefined,
    limit: 10,
  });
  return rows[0];
}

describe('sums in PostgreSQL', () => {
  test('usage counts what was written before the sums do, and the same afterwards', async () => {
    const ledger = await open();
    await ledger.append(minedOperations(10));
    await writePostgres(ledger.postgres, minedOperations(20));
    const wanted = { sponsored: 30, mined: 30, expired: 0, spentWei: 18_000n };
    expect(await total(ledger)).toMatchObject(wanted);
    while (await ledger.rollUp());
    expect(await total(ledger)).toMatchObject(wanted);
  });

  test('a transaction that is still open is counted when it has ended, although later ones were counted before', async () => {
    const ledger = await open();
    await ledger.append(minedOperations(1));
    const { promise: written, resolve: wrote } = Promise.withResolvers<void>();
    const { promise: goOn, resolve: release } = Promise.withResolvers<void>();
    const slow = ledger.postgres.transaction({ mode: 'write', timeoutMs: 30_000 }, async (session) => {
      for (const { text, values } of ledgerStatements(minedOperations(2))) await session.query(text, values);
      wrote();
      await goOn;
    });
    await written;
    await ledger.append(minedOperations(4));
    expect(await total(ledger)).toMatchObject({ sponsored: 5, mined: 5 });
    release();
    await slow;
    expect(await total(ledger)).toMatchObject({ sponsored: 7, mined: 7 });
    while (await ledger.rollUp());
    expect(await total(ledger)).toMatchObject({ sponsored: 7, mined: 7, spentWei: 4_200n });
  });

  test('several processes that roll up at the same time count every record once', async () => {
    const url = await server.createDatabase();
    const pods = [await open(url), await open(url), await open(url)];
    await pods[0]!.ping();
    await writePostgres(pods[0]!.postgres, minedOperations(3_000));
    await Promise.all(
      pods.map(async (pod) => {
        while (await pod.rollUp());
      }),
    );
    for (const pod of pods)
      expect(await total(pod)).toMatchObject({ sponsored: 3_000, mined: 3_000, spentWei: 1_800_000n });
  });

  test('a server that is killed again and again while it rolls up leaves sums that agree with the records', async () => {
    const url = await server.createDatabase();
    const ledger = await open(url);
    for (let round = 0; round < 4; round++) {
      await ledger.ping();
      await writePostgres(ledger.postgres, minedOperations(1_500));
      const rolling = ledger
        .rollUp()
        .catch((error: unknown) => expect(error).toMatchObject({ code: 'UNAVAILABLE' }));
      // At another point of the job in each round.
      for (let step = 0; step < 3 ** round; step++) await new Promise(setImmediate);
      await server.kill();
      await rolling;
      await server.start();
    }
    while (await ledger.rollUp());
    const wanted = { sponsored: 6_000, mined: 6_000, expired: 0, spentWei: 3_600_000n };
    expect(await total(ledger)).toMatchObject(wanted);
    expect(
      await server.query(
        url,
        `SELECT unit, sum(mined) AS mined, sum(spent_wei) AS spent FROM ledger.usage WHERE dimension = 'chain'
         GROUP BY unit ORDER BY unit`,
      ),
    ).toEqual(['day', 'hour', 'minute'].map((unit) => ({ unit, mined: '6000', spent: '3600000' })));
  });

  test('rows that came from another server are counted anew, with those that are written here', async () => {
    const url = await server.createDatabase();
    const ledger = await open(url);
    await ledger.append(minedOperations(5));
    // As a restored dump is: numbers of another server's transactions, far above this one's.
    await server.query(
      url,
      `UPDATE ledger.decision SET xact = xact + 1000000000; UPDATE ledger.settlement SET xact = xact + 1000000000;
       UPDATE ledger.mark SET system_identifier = 'another', decision = 2000000000, settlement = 2000000000, gap = 2000000000`,
    );
    await writePostgres(ledger.postgres, minedOperations(3));
    while (await ledger.rollUp());
    await writePostgres(ledger.postgres, minedOperations(2));
    while (await ledger.rollUp());
    expect(await total(ledger)).toMatchObject({ sponsored: 10, mined: 10, expired: 0, spentWei: 6_000n });
  });
});

describe('retention in PostgreSQL', () => {
  const now = at('2026-11-25T12:00:00Z');
  const days = [21, 22, 23, 24, 25].map((day) => at(`2026-11-${day}T12:00:00Z`));
  const partsOf = async (url: string, table: string): Promise<unknown[]> =>
    (
      await server.query(
        url,
        `SELECT relname FROM pg_class WHERE relkind = 'r' AND relname < '${table}_20261126' AND relname LIKE '${table}\\_%' ORDER BY 1`,
      )
    ).map(({ relname }) => relname);

  test('beyond its bytes the oldest days go, but for two', async () => {
    const url = await server.createDatabase();
    const ledger = openPostgresLedger(url, { maxBytes: 1, clock: { now: () => now } });
    opened.push(ledger);
    for (const day of days) await ledger.append(reservationOf(aDecision('acme', day)));
    while (await ledger.prune(now));
    expect(await partsOf(url, 'decision')).toEqual(['decision_20261124', 'decision_20261125']);
    expect(await partsOf(url, 'usage')).toEqual(['usage_202611']);
    const { used, capacity } = (await ledger.size?.()) ?? { used: 0, capacity: 0 };
    expect({ capacity, isBeyond: used > capacity }).toEqual({ capacity: 1, isBeyond: true });
  });

  test('a part that somebody reads stays until a later call, and nobody waits for it', async () => {
    const url = await server.createDatabase();
    const ledger = await open(url);
    const old = aDecision('acme', at('2025-01-01T12:00:00Z'));
    await ledger.append(reservationOf(old));
    await ledger.postgres.transaction({ mode: 'read', timeoutMs: 30_000 }, async (session) => {
      await session.query('SELECT * FROM ledger.decision_20250101');
      await ledger.prune(now);
      expect(await partsOf(url, 'decision')).toContain('decision_20250101');
    });
    await ledger.prune(now);
    expect(await partsOf(url, 'decision')).not.toContain('decision_20250101');
  });
});

describe('what docs/ledger.md publishes', () => {
  test('its statements run, and its queries find what they ask for', async () => {
    const url = await server.createDatabase();
    const ledger = await open(url);
    const decision = aDecision('acme', noon);
    await ledger.append(reservationOf(decision, aSettlement(decision, later(10))));
    const text = readFileSync(join(repositoryRoot, 'docs/ledger.md'), 'utf8');
    const blocks = [...text.matchAll(/```sql\n([^`]+)```/g)].map(([, sql = '']) => sql);
    const [analyst, ...queries] = blocks;
    expect(queries).toHaveLength(3);
    await server.query(url, `CREATE ROLE paymaster LOGIN; ${analyst}`);
    for (const query of queries) await server.query(url, `SET ROLE analyst; ${query}`);
    const [spent] = await server.query(
      url,
      (queries[0] ?? '').replaceAll('2026-11', '2026-12').replaceAll('2026-10', '2026-11'),
    );
    expect(spent).toMatchObject({ paymaster_id: 'shop', operations: '1' });
  });

  test('the tables say the same as the answers', async () => {
    const url = await server.createDatabase();
    const ledger = await open(url);
    const [paid, other, lapsed] = [
      aDecision('acme', noon),
      aDecision('acme', later(1)),
      aDecision('acme', later(2)),
    ];
    const token = { address: paid.sender, amount: 9n, decimals: undefined };
    await ledger.append([
      ...reservationOf(
        paid,
        other,
        aSettlement(paid, later(10)),
        aReversal(paid, later(20)),
        aSettlement(other, later(30), { token }),
      ),
      ...reservationOf(lapsed, anUnusedEnd(lapsed, later(40))),
      ...alone(aGap('acme', noon), aSample(paid.sender, noon)),
    ]);
    const rows = await server.query(
      url,
      `SELECT outcomes.outcome, taken_back, actual_gas_cost_wei FROM ledger.decisions
       LEFT JOIN ledger.outcomes ON decision = decisions.id
       LEFT JOIN ledger.settlements ON settlements.id = settlement ORDER BY decisions.id`,
    );
    expect(rows).toEqual([
      { outcome: 'spent-elsewhere', taken_back: 1, actual_gas_cost_wei: '600' },
      { outcome: 'mined', taken_back: 1, actual_gas_cost_wei: '600' },
      { outcome: 'expired', taken_back: 0, actual_gas_cost_wei: null },
    ]);
    const days = await server.query(
      url,
      `SELECT sponsored, refused, mined, expired, spent_wei FROM ledger.usage_day WHERE dimension = 'paymaster'`,
    );
    expect(days).toEqual([{ sponsored: '2', refused: '5', mined: '1', expired: '1', spent_wei: '600' }]);
    expect(
      await server.query(url, `SELECT decimals, amount FROM ledger.tokens_hour WHERE dimension = 'chain'`),
    ).toEqual([{ decimals: -1, amount: '9' }]);
    expect(await server.query(url, 'SELECT count(*) FROM ledger.gaps')).toEqual([{ count: '1' }]);
    expect(await server.query(url, 'SELECT at FROM ledger.funds_hour')).toEqual([{ at: new Date(noon) }]);
    expect(await server.query(url, 'SELECT sender, sponsored FROM ledger.senders_day')).toEqual([
      { sender: paid.sender, sponsored: '2' },
    ]);
  });
});
