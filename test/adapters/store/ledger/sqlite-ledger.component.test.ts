import { execFile } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, test } from '@jest/globals';
import { openReader } from '../../../../adapters/sqlite/database.js';
import { openSqliteTables } from '../../../../adapters/store/ledger/sqlite-tables.js';
import { rollUpSlice, type RollUpTables } from '../../../../adapters/store/ledger/roll-up.js';
import type { LedgerEntry } from '../../../../core/ledger/ledger.js';
import type { Decision } from '../../../../core/ledger/record.js';
import type { UsageRow } from '../../../../core/ledger/query.js';
import type { EpochMs } from '../../../../core/units/time.js';
import { movementConformance } from '../../../conformance/ledger-movements.js';
import { ledgerConformance } from '../../../conformance/ledger.js';
import { aDecision, aSettlement, at, reservationOf } from '../../../conformance/ledger-records.js';
import { openSqliteLedger, type WrittenLedger } from './written.js';

ledgerConformance('SQLite', () => openSqliteLedger());
movementConformance('SQLite', () => openSqliteLedger());

const noon = at('2026-11-22T12:00:00Z');
const later = (ms: number): EpochMs => (noon + ms) as EpochMs;
const opened: WrittenLedger[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((ledger) => ledger.stop()));
});

async function open(options: Parameters<typeof openSqliteLedger>[0] = {}) {
  const ledger = await openSqliteLedger(options);
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

describe('sums in SQLite', () => {
  test('usage counts what was written before the sums do, and the same afterwards', async () => {
    const ledger = await open();
    await ledger.append(minedOperations(10));
    await ledger.write(minedOperations(400));
    const wanted = { sponsored: 410, mined: 410, expired: 0, spentWei: 246_000n };
    expect(await total(ledger)).toMatchObject(wanted);
    while (await ledger.rollUp());
    expect(await total(ledger)).toMatchObject(wanted);
  });

  test('a job that is cut off before, while or after it stores a slice leaves sums that agree with the records', async () => {
    const ledger = await open();
    await ledger.write(minedOperations(1_200));
    const tables = openSqliteTables(ledger.db.path);
    const cut = new Error('cut off');
    let stores = 0;
    const failing: RollUpTables = {
      ...tables,
      sliceRows: 100,
      store: async (rows, from, to) => {
        stores += 1;
        if (stores % 3 === 0) throw cut;
        // A row that no table takes: the transaction ends in its middle.
        const bad = { ...rows[0]!, unit: null as never };
        const isStored = await tables.store(stores % 3 === 1 ? [...rows, bad] : rows, from, to);
        if (stores % 2 === 0) throw cut;
        return isStored;
      },
    };
    try {
      let isMore = true;
      let failures = 0;
      while (isMore)
        isMore = await rollUpSlice(failing).catch(() => {
          failures += 1;
          return true;
        });
      expect(failures).toBeGreaterThan(5);
    } finally {
      tables.close();
    }
    expect(await total(ledger)).toMatchObject({
      sponsored: 1_200,
      mined: 1_200,
      expired: 0,
      spentWei: 720_000n,
    });
    expect(ledger.db.sql.prepare('SELECT decision, settlement FROM ledger_mark').get()).toEqual({
      decision: 1_201,
      settlement: 1_201,
    });
  });
});

describe('the log of commits', () => {
  /** What the main file has by itself, as if there were no log. */
  const inMainFile = (file: string): unknown => {
    const folder = mkdtempSync(join(tmpdir(), 'main-file-'));
    try {
      const path = join(folder, 'usage.db');
      copyFileSync(file, path);
      const db = openReader(path);
      const rows = db.sql.prepare('SELECT count(*) AS decisions FROM ledger_decision').get();
      db.close();
      return rows;
    } finally {
      rmSync(folder, { recursive: true });
    }
  };

  test('is moved into the main file by the job that sums, so that the thread that signs need not', async () => {
    const ledger = await open();
    ledger.db.sql.exec('PRAGMA wal_autocheckpoint = 0; PRAGMA wal_checkpoint(TRUNCATE)');
    await ledger.write(minedOperations(400));
    expect(inMainFile(ledger.db.path)).toEqual({ decisions: 0 });
    await ledger.rollUp();
    expect(inMainFile(ledger.db.path)).toEqual({ decisions: 400 });
  });
});

describe('a ledger in SQLite that has a size', () => {
  const days = [1, 2, 3].map((day) => at(`2026-11-0${day}T12:00:00Z`));
  const now = at('2026-11-04T12:00:00Z');
  const decisionsOf = (day: EpochMs): Decision[] =>
    [...Array(200).keys()].map((index) => aDecision('acme', (day + index) as EpochMs));

  test('loses the oldest decisions beyond its bytes, and keeps the sums', async () => {
    const ledger = await open({ maxBytes: 300_000 });
    const all = days.map(decisionsOf);
    await ledger.append(all.flat().flatMap((decision) => reservationOf(decision)));
    while (await ledger.prune(now));
    expect(await ledger.decision('acme', all[0]![0]!.id)).toBeUndefined();
    expect(await ledger.decision('acme', all[2]![199]!.id)).toBeDefined();
    expect(await total(ledger)).toMatchObject({ sponsored: 600 });
  });
});

test('a question that cannot be sent to the thread fails, the next is answered, and the process lives on past its deadline', async () => {
  const written = new URL('./written.js', import.meta.url).href;
  const question = `{ organisation: 'acme', paymasterId: undefined, from: 0, to: 1, limit: 1 }`;
  const script = `
    const { openSqliteLedger } = await import('${written}');
    const ledger = await openSqliteLedger({ deadlineMs: 1_000 });
    const refused = await ledger.decisions({ ...${question}, text: () => {} }).catch((error) => error.name);
    // A busy machine may be slower than the deadline.
    const ask = () => ledger.decisions(${question}).catch(ask);
    const { decisions } = await ask();
    // Timers of Node that began later fire later.
    await new Promise((resolve) => setTimeout(resolve, 1_001));
    console.log(refused, decisions.length);
    await ledger.stop();
  `;
  const directory = mkdtempSync(join(tmpdir(), 'thread-'));
  const file = join(directory, 'script.mjs');
  writeFileSync(file, script);
  const { stdout } = await promisify(execFile)(process.execPath, ['--no-warnings', file]);
  rmSync(directory, { recursive: true });
  expect(stdout).toBe('DataCloneError 0\n');
});
