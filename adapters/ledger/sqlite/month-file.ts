import type { StatementSync } from 'node:sqlite';
import type { RollupDimension } from '../../../core/ledger/shares.js';
import type { EpochMs } from '../../../core/units/time.js';
import { openDatabase, usedBytes, type Database, type DatabaseOptions } from '../../sqlite/database.js';
import { migrate } from '../../sqlite/migrate.js';
import { integerOf } from '../../sqlite/row.js';
import { createDecisionBlocks, type DecisionBlocks } from './decision-blocks.js';
import { createLookup, type Lookup } from './lookup.js';
import { monthTables } from './month-tables.js';

/** Page cache of a file, in KiB: the pages that a month's inserts touch again and again. */
const cacheKib = 16_000;
/** Four blocks of decisions, and nearly all rows are appended: larger pages are fewer to write. */
const pageBytes = 16_384;
/** 32 MB: the pages at the ends of tables and indices change with every batch, and a checkpoint copies each of them once. */
const pagesBetweenCheckpoints = 2_048;

/**
 * The file of a month: all records of reservations that began in it, and their roll-ups, so that one transaction of one
 * file stores both. Records of a reservation that goes on in the next month are here too.
 */
export type MonthFile = {
  readonly database: Database;
  readonly blocks: DecisionBlocks;
  readonly lookup: Lookup;
  /** Statements are compiled once. */
  statement(sql: string): StatementSync;
  /** Undefined: no record names it. */
  organisation(name: string): number | undefined;
  ownOrganisation(name: string): number;
  ownSeries(series: Series): number;
  /** Times of the earliest and the latest record; undefined: there is none. */
  bounds(): Bounds | undefined;
  widen(at: EpochMs): void;
  /** All or nothing; what it remembers of the tables is forgotten when `work` throws. */
  transaction(work: () => void): void;
  bytes(): number;
  close(): void;
};

export type Series = {
  readonly organisation: number;
  readonly dimension: RollupDimension;
  readonly paymasterId: string;
  readonly value: string;
};
/** By organisation, paymaster, dimension and value: joining them to one key takes longer than four look-ups. */
type SeriesIds = Map<number, Map<string, Map<RollupDimension, Map<string, number>>>>;
export type Bounds = { readonly first: EpochMs; readonly last: EpochMs };

export function openMonthFile(path: string, options: DatabaseOptions): MonthFile {
  const database = openDatabase(path, { ...options, pageBytes });
  try {
    migrate(database, 'ledger', monthTables);
    database.run(() =>
      database.sql.exec(
        `PRAGMA cache_size = -${cacheKib}; PRAGMA wal_autocheckpoint = ${pagesBetweenCheckpoints}`,
      ),
    );
    return monthFileOf(database);
  } catch (error) {
    database.close();
    throw error;
  }
}

function monthFileOf(database: Database): MonthFile {
  const blocks = createDecisionBlocks(database);
  const lookup = createLookup(database);
  const statements = new Map<string, StatementSync>();
  let organisations = new Map<string, number>();
  let series: SeriesIds = new Map();
  let bounds = database.run(readBounds);

  function statement(sql: string): StatementSync {
    const known = statements.get(sql);
    if (known !== undefined) return known;
    const made = database.sql.prepare(sql);
    statements.set(sql, made);
    return made;
  }

  function idsOf(owner: number, paymasterId: string, dimension: RollupDimension): Map<string, number> {
    let paymasters = series.get(owner);
    if (paymasters === undefined) series.set(owner, (paymasters = new Map()));
    let dimensions = paymasters.get(paymasterId);
    if (dimensions === undefined) paymasters.set(paymasterId, (dimensions = new Map()));
    let ids = dimensions.get(dimension);
    if (ids === undefined) dimensions.set(dimension, (ids = new Map()));
    return ids;
  }

  function readBounds(): Bounds | undefined {
    const row = statement('SELECT first, last FROM bounds').get();
    return row && { first: integerOf(row, 'first') as EpochMs, last: integerOf(row, 'last') as EpochMs };
  }

  function organisation(name: string): number | undefined {
    const known = organisations.get(name);
    if (known !== undefined) return known;
    const row = statement('SELECT id FROM organisations WHERE name = ?').get(name);
    if (row === undefined) return undefined;
    const id = integerOf(row, 'id');
    organisations.set(name, id);
    return id;
  }

  return {
    database,
    blocks,
    lookup,
    statement,
    organisation,
    ownOrganisation: (name) => {
      const known = organisation(name);
      if (known !== undefined) return known;
      const { lastInsertRowid } = statement('INSERT INTO organisations (name) VALUES (?)').run(name);
      organisations.set(name, Number(lastInsertRowid));
      return Number(lastInsertRowid);
    },
    ownSeries: ({ organisation: owner, dimension, paymasterId, value }) => {
      const known = idsOf(owner, paymasterId, dimension);
      const before = known.get(value);
      if (before !== undefined) return before;
      const values = [owner, dimension, paymasterId, value];
      const row = statement(
        'SELECT id FROM series WHERE organisation = ? AND dimension = ? AND paymaster_id = ? AND value = ?',
      ).get(...values);
      const id =
        row === undefined
          ? Number(
              statement(
                'INSERT INTO series (organisation, dimension, paymaster_id, value) VALUES (?, ?, ?, ?)',
              ).run(...values).lastInsertRowid,
            )
          : integerOf(row, 'id');
      known.set(value, id);
      return id;
    },
    bounds: () => bounds,
    widen: (at) => {
      if (bounds !== undefined && at >= bounds.first && at <= bounds.last) return;
      const first = Math.min(at, bounds?.first ?? at) as EpochMs;
      const last = Math.max(at, bounds?.last ?? at) as EpochMs;
      statement('INSERT OR REPLACE INTO bounds VALUES (1, ?, ?)').run(first, last);
      bounds = { first, last };
    },
    transaction: (work) => {
      try {
        database.transaction(() => {
          work();
          lookup.store();
        });
      } catch (error) {
        blocks.forget();
        lookup.forget();
        organisations = new Map();
        series = new Map();
        bounds = database.run(readBounds);
        throw error;
      }
    },
    bytes: () => usedBytes(database),
    close: () => database.close(),
  };
}
