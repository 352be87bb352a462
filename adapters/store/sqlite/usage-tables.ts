import type { StatementSync } from 'node:sqlite';
import { DomainError } from '../../../core/errors.js';
import type { LedgerEntry } from '../../../core/ledger/ledger.js';
import { partyName } from '../../../core/usage/reservations.js';
import type { RowChanges } from '../../../core/usage/rows.js';
import type { OpenStep } from '../../../core/usage/step-parts.js';
import type { EpochMs, EpochSeconds } from '../../../core/units/time.js';
import type { TakenStep } from '../../../core/usage/follower-step.js';
import type { CounterId, Reservation, ReservationKey } from '../../../core/usage/reservation.js';
import type { Unit } from '../../../core/usage/units.js';
import type { Database } from '../../sqlite/database.js';
import type { SqliteLedgerWriter } from '../ledger/write.js';
import { migrate } from '../../sqlite/migrate.js';
import { readInteger, readText } from '../../sqlite/row.js';
import { ChainRows, type WrittenPlace } from './chain-rows.js';
import { toKey, readAccount, readChain, readCounter, readFence, toReservation } from './stored-rows.js';
import { priceSchema } from './price-references.js';
import { createTakenSteps, takenStepsSchema } from './taken-steps.js';
import { formatTerms, parseTerms } from '../terms.js';

/**
 * The stored data: settled use (a counter without any has no row), balances, fences, reservations, and one row per
 * chain with its epoch, sequence and cursor. Reserved amounts are not stored: they follow from the reservations. Their rows
 * have numbers that rise, so that inserting appends.
 */
const usageSchema = `
  CREATE TABLE usage_chains (
    chain_id INTEGER PRIMARY KEY, epoch TEXT NOT NULL, longest_expiry_ms INTEGER NOT NULL, sequence INTEGER NOT NULL,
    forgotten_until INTEGER NOT NULL, block_number INTEGER, block_hash TEXT, block_timestamp INTEGER,
    open_sequence INTEGER, open_done INTEGER
  ) STRICT;
  CREATE TABLE usage_counters (
    chain_id INTEGER NOT NULL, unit TEXT NOT NULL, counter TEXT NOT NULL, until INTEGER NOT NULL, used INTEGER NOT NULL,
    PRIMARY KEY (chain_id, unit, counter)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX usage_counters_until ON usage_counters (chain_id, until);
  CREATE TABLE usage_accounts (
    chain_id INTEGER NOT NULL, contract TEXT NOT NULL, funding TEXT NOT NULL, balance INTEGER NOT NULL, read_at INTEGER NOT NULL,
    PRIMARY KEY (chain_id, contract, funding)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE usage_fences (
    chain_id INTEGER NOT NULL, id TEXT NOT NULL, generation INTEGER NOT NULL, seen_at INTEGER NOT NULL, is_suspended INTEGER NOT NULL,
    PRIMARY KEY (chain_id, id)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE usage_reservations (
    row INTEGER PRIMARY KEY, chain_id INTEGER NOT NULL, paymaster_id TEXT NOT NULL, entry_point TEXT NOT NULL,
    sender TEXT NOT NULL, nonce TEXT NOT NULL, valid_until INTEGER NOT NULL, party TEXT, commit_until INTEGER, terms TEXT NOT NULL
  ) STRICT;
  CREATE INDEX usage_reservations_expiry ON usage_reservations (chain_id, valid_until);
  CREATE INDEX usage_reservations_party ON usage_reservations (chain_id, party) WHERE party IS NOT NULL;
  CREATE INDEX usage_reservations_commit ON usage_reservations (chain_id, commit_until) WHERE commit_until IS NOT NULL;
  CREATE TABLE usage_messages (paymaster_id TEXT PRIMARY KEY, message TEXT NOT NULL, expires_at INTEGER NOT NULL) STRICT;
  ${takenStepsSchema}
`;

export type KeptText = { readonly message: string; readonly expiresAt: EpochMs };

/** All usage data except the contents of reservations. */
export type Usage = {
  readonly chains: Map<number, ChainRows>;
  readonly messages: Map<string, KeptText>;
};

/** What a turn writes of a chain: changed rows, and what the store itself keeps of the chain. */
export type ChainWrite = {
  readonly rows: ChainRows;
  readonly changes: RowChanges | undefined;
  readonly epoch: string;
  readonly longestExpiryMs: number;
  /** Fences that nobody has named for long. */
  readonly forgotten: readonly string[];
};

export type UsageTables = ReturnType<typeof createUsageTables>;

/** `ledger` writes records inside the transaction. */
export function createUsageTables(db: Database, ledger: SqliteLedgerWriter) {
  refuseOlderForm(db);
  migrate(db, 'usage', [usageSchema, priceSchema]);
  const { sql } = db;
  const chains = table(db, 'usage_chains', 10, ['chain_id']);
  const counters = table(db, 'usage_counters', 5, ['chain_id', 'unit', 'counter']);
  const accounts = table(db, 'usage_accounts', 5, ['chain_id', 'contract', 'funding']);
  const fences = table(db, 'usage_fences', 5, ['chain_id', 'id']);
  const reservations = table(db, 'usage_reservations', 10, ['row']);
  const messages = table(db, 'usage_messages', 3, ['paymaster_id']);
  const takenSteps = createTakenSteps(db);
  const probe = sql.prepare(`UPDATE components SET version = version WHERE component = 'usage'`);
  const ofRow = sql.prepare('SELECT terms FROM usage_reservations WHERE row = ?');
  const ofChain = sql.prepare('SELECT * FROM usage_reservations WHERE chain_id = ? ORDER BY row');
  const ofParty = sql.prepare('SELECT * FROM usage_reservations WHERE chain_id = ? AND party = ?');
  const expired = sql.prepare(
    'SELECT * FROM usage_reservations WHERE chain_id = ? AND valid_until < ? ORDER BY valid_until LIMIT ?',
  );
  const due = sql.prepare(
    'SELECT * FROM usage_reservations WHERE chain_id = ? AND commit_until <= ? ORDER BY commit_until LIMIT ?',
  );
  const ended = sql.prepare('SELECT unit, counter FROM usage_counters WHERE chain_id = ? AND until < ?');
  const logState = sql.prepare('PRAGMA wal_checkpoint(NOOP)');
  const lastRow = sql.prepare('SELECT max(row) AS row FROM usage_reservations');
  let nextRow = 0;

  const reader = {
    reservation: (key: ReservationKey, row: number): Reservation =>
      db.run(() => {
        const stored = ofRow.get(row);
        if (stored === undefined) throw new TypeError(`no reservation is in row ${row}`);
        return { key, ...parseTerms(readText(stored, 'terms')) };
      }),
    committed: (key: ReservationKey): readonly Reservation[] =>
      db.run(() => ofParty.all(key.chainId, partyName(key)).map(toReservation)),
  };

  function chainIn(usage: Usage, chainId: number): ChainRows {
    const known = usage.chains.get(chainId);
    if (known !== undefined) return known;
    const rows = new ChainRows(chainId, reader);
    usage.chains.set(chainId, rows);
    return rows;
  }

  const takeRow = (): number => (nextRow += 1);

  function writeRows(rows: ChainRows, changes: RowChanges): readonly WrittenPlace[] {
    const { chainId } = rows;
    const places = changes.reservations.map((one) => {
      const { key, validUntil, commit } = one;
      const place = rows.placeOf(key, takeRow);
      reservations.put.run(
        place.row,
        chainId,
        key.paymasterId,
        key.entryPoint,
        key.sender,
        key.nonce.toString(16),
        validUntil,
        commit === undefined ? null : partyName(key),
        commit?.until ?? null,
        formatTerms(one),
      );
      return place;
    });
    for (const key of changes.ended) {
      const row = rows.rowOf(key);
      if (row !== undefined) reservations.remove.run(row);
    }
    for (const row of changes.counters) {
      const { unit, counter, until, used } = row;
      const before = rows.counter(row);
      if (used > 0) {
        if (before?.used !== used || before.until !== until)
          counters.put.run(chainId, unit, counter, until, used);
      } else if (before !== undefined && before.used > 0) counters.remove.run(chainId, unit, counter);
    }
    for (const row of changes.accounts) {
      const { contract, fundingAddress = '', balance, readAt } = row;
      const before = rows.account(row);
      if (before?.balance === balance && before?.readAt === readAt) continue;
      if (balance === undefined || readAt === undefined)
        accounts.remove.run(chainId, contract, fundingAddress);
      else accounts.put.run(chainId, contract, fundingAddress, balance, readAt);
    }
    for (const { id, generation, seenAt, isSuspended } of changes.fences)
      fences.put.run(chainId, id, generation, seenAt, isSuspended ? 1 : 0);
    takenSteps.put(chainId, changes, rows.chain.open !== undefined);
    return places;
  }

  function writeChain({
    rows,
    changes,
    epoch,
    longestExpiryMs,
    forgotten,
  }: ChainWrite): readonly WrittenPlace[] {
    const { chainId } = rows;
    const places = changes === undefined ? [] : writeRows(rows, changes);
    for (const id of forgotten) fences.remove.run(chainId, id);
    const { cursor, forgottenUntil, open } = changes?.chain ?? rows.chain;
    const at = [cursor?.blockNumber ?? null, cursor?.blockHash ?? null, cursor?.timestamp ?? null];
    const step = [open?.sequence ?? null, open?.done ?? null];
    chains.put.run(chainId, epoch, longestExpiryMs, rows.sequence, forgottenUntil, ...at, ...step);
    return places;
  }

  return {
    /** Reads everything that is stored. Throws UNAVAILABLE. */
    read: (): Usage =>
      db.run(() => {
        const usage: Usage = { chains: new Map(), messages: new Map() };
        nextRow = Number(lastRow.get()?.['row'] ?? 0);
        for (const row of chains.all.iterate()) readChain(chainIn(usage, readInteger(row, 'chain_id')), row);
        for (const row of counters.all.iterate())
          readCounter(chainIn(usage, readInteger(row, 'chain_id')), row);
        for (const row of accounts.all.iterate())
          readAccount(chainIn(usage, readInteger(row, 'chain_id')), row);
        for (const row of fences.all.iterate()) readFence(chainIn(usage, readInteger(row, 'chain_id')), row);
        for (const row of reservations.all.iterate())
          chainIn(usage, readInteger(row, 'chain_id')).addStored(toReservation(row), readInteger(row, 'row'));
        for (const row of messages.all.iterate())
          usage.messages.set(readText(row, 'paymaster_id'), {
            message: readText(row, 'message'),
            expiresAt: readInteger(row, 'expires_at') as EpochMs,
          });
        return usage;
      }),
    /** The rows of a chain; made when it has none. */
    chainOf: chainIn,
    /**
     * Stores changes of chains, messages (undefined: the message was used up) and records, all or nothing. Answers the
     * places of each chain's reservations. Throws UNAVAILABLE.
     */
    write: (
      written: readonly ChainWrite[],
      changedMessages: ReadonlyMap<string, KeptText | undefined>,
      entries: readonly LedgerEntry[],
    ): readonly (readonly WrittenPlace[])[] =>
      db.transaction(() => {
        const places = written.map(writeChain);
        for (const [paymasterId, message] of changedMessages)
          if (message === undefined) messages.remove.run(paymasterId);
          else messages.put.run(paymasterId, message.message, message.expiresAt);
        ledger.write(entries);
        return places;
      }),
    // The questions throw UNAVAILABLE.
    /** Steps of the follower that lead to the chain's cursor. */
    takenSteps: ({ chainId, chain }: ChainRows): readonly TakenStep[] =>
      db.run(() => takenSteps.read(chainId, chain.cursor)),
    openStep: ({ chainId, chain: { open } }: ChainRows): OpenStep | undefined => {
      const step = open === undefined ? undefined : db.run(() => takenSteps.open(chainId));
      return open === undefined || step === undefined ? undefined : { step, ...open };
    },
    all: (chainId: number): readonly Reservation[] => db.run(() => ofChain.all(chainId).map(toReservation)),
    expired: (chainId: number, before: EpochSeconds, limit: number): readonly Reservation[] =>
      db.run(() => expired.all(chainId, before, limit).map(toReservation)),
    dueCommits: (chainId: number, at: EpochMs, limit: number): readonly ReservationKey[] =>
      db.run(() => due.all(chainId, at, limit).map((row) => toKey(row))),
    /** Counters with settled use whose window ended before this time, as far as `isFree` and `limit` let them. */
    endedCounters: (
      chainId: number,
      before: EpochMs,
      limit: number,
      isFree: (id: CounterId) => boolean,
    ): readonly CounterId[] =>
      db.run(() => {
        const found: CounterId[] = [];
        for (const row of ended.iterate(chainId, before)) {
          const id = { counter: readText(row, 'counter'), unit: readText(row, 'unit') as Unit };
          if (isFree(id) && found.push(id) === limit) break;
        }
        return found;
      }),
    reader,
    /** Writes data that are there already, to check whether writing works. Throws UNAVAILABLE. */
    probe: () => db.transaction(() => void probe.run()),
    /** Pages of the log of commits, and those that have not been moved into the main file. Throws UNAVAILABLE. */
    logOfCommits: (): { readonly pages: number; readonly left: number } =>
      db.run(() => {
        const row = logState.get() ?? {};
        const pages = readInteger(row, 'log');
        return { pages, left: pages - readInteger(row, 'checkpointed') };
      }),
    /** Moves committed data into the main file, so that the log of commits can start again. Throws UNAVAILABLE. */
    checkpoint: () => db.run(() => sql.exec('PRAGMA wal_checkpoint(PASSIVE)')),
    close: () => db.close(),
  };
}

/** Nothing was released with the older form, so nothing converts it. */
function refuseOlderForm(db: Database): void {
  const isOlder = db.run(
    () =>
      db.sql.prepare(`SELECT 1 FROM pragma_table_info('usage_chains')`).get() !== undefined &&
      db.sql
        .prepare(`SELECT 1 FROM pragma_table_info('usage_reservations') WHERE name = 'valid_until'`)
        .get() === undefined,
  );
  if (isOlder)
    throw new DomainError(
      'UNAVAILABLE',
      `${db.path} has the form of a development version before 0.1.0: move it away (mv ${db.path} ${db.path}.old) and start again`,
      { reason: 'OLDER_FORM' },
    );
}

type Table = { readonly all: StatementSync; readonly put: StatementSync; readonly remove: StatementSync };

function table({ sql }: Database, name: string, columns: number, key: readonly string[]): Table {
  return {
    all: sql.prepare(`SELECT * FROM ${name}`),
    put: sql.prepare(`REPLACE INTO ${name} VALUES (${Array(columns).fill('?').join(', ')})`),
    remove: sql.prepare(`DELETE FROM ${name} WHERE ${key.map((column) => `${column} = ?`).join(' AND ')}`),
  };
}
