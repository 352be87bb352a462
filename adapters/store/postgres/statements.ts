import { asEntries } from '../../../core/ledger/ledger.js';
import { accountName } from '../../../core/usage/accounts.js';
import { operationKey, partyName, reservationName } from '../../../core/usage/reservations.js';
import {
  isEmptyAccount,
  isEmptyCounter,
  type RowChanges,
  type StepChange,
} from '../../../core/usage/rows.js';
import { maxTakenEndings, maxTakenSteps } from '../../../core/usage/taken-step.js';
import type { Reservation } from '../../../core/usage/reservation.js';
import type { Statement } from '../../postgres/pipeline.js';
import { ledgerStatements } from '../ledger/write.js';
import { formatStep } from '../step-text.js';
import { formatTerms } from '../terms.js';
import { counterRow, heldBy, type WantedRows } from './names.js';

// The SQL of a turn: what it reads in its first trip, and what it writes in its second.

/** The clock of the server, in milliseconds. */
export const serverNow = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint';

/** Classes of advisory locks, beside those of migrations. */
const chainClass = 7_045_134;

export function begin(isReadOnly: boolean): Statement {
  return isReadOnly
    ? { name: 'begin-read', text: 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY' }
    : { name: 'begin', text: 'BEGIN' };
}

export const commit: Statement = { name: 'commit', text: 'COMMIT' };
export const rollback: Statement = { name: 'rollback', text: 'ROLLBACK' };

/** Waits for a former connection of this writer that may still commit. */
export function lockWriter(id: string): Statement {
  return {
    name: 'lock-writer',
    text: 'SELECT sequence FROM usage.writer WHERE id = $1 FOR NO KEY UPDATE',
    values: [id],
  };
}

/**
 * Every turn of a chain shares this lock; a change of what all turns of the chain read (its fences, its epoch) takes it alone.
 * Two chains with one number wait for each other, and nothing else happens.
 */
export function lockChain(chainId: number, isAlone: boolean): Statement {
  const values = [chainClass, chainId % 2_147_483_647];
  return isAlone
    ? { name: 'lock-chain-alone', text: 'SELECT pg_advisory_xact_lock($1, $2)', values }
    : { name: 'lock-chain', text: 'SELECT pg_advisory_xact_lock_shared($1, $2)', values };
}

// Plans are made once for a connection, perhaps while a table is empty: then any index that begins with the chain looks as good as the
// one for names, and later every turn would read all rows of the chain. No index serves "chain_id + 0". Names that a statement finds
// itself are an array: with "name IN (SELECT …)" a plan that was made while a table is large reads the table and joins it.
const ofChain = 'chain_id + 0 = $1';

const held = (what: string, names: string, parties: string): string => `
  SELECT ${what} FROM usage.reservation WHERE ${ofChain} AND name = ANY(${names}::text[])
  UNION SELECT ${what} FROM usage.reservation WHERE ${ofChain} AND party = ANY(${parties}::text[])`;

/**
 * Takes the locks that calls name, and those of what their reservations hold, in one order for all processes. A lock that exists is
 * locked and not written. Answers the locks of reservations: a reservation that holds others by now has to be asked for again.
 */
export function takeLocks(chainId: number, wanted: WantedRows): Statement {
  return {
    name: 'take-locks',
    text: `WITH held AS MATERIALIZED (SELECT DISTINCT name FROM (${held('unnest(locks) AS name', '$3', '$4')}) AS each),
      taken AS (
        INSERT INTO usage.lock (chain_id, name)
        SELECT $1, name FROM (SELECT unnest($2::text[]) AS name UNION SELECT name FROM held) AS names
        ORDER BY name COLLATE "C"
        ON CONFLICT (chain_id, name) DO UPDATE SET name = excluded.name WHERE false
      )
      SELECT name FROM held`,
    values: [chainId, [...wanted.locks], [...wanted.reservations], [...wanted.parties]],
  };
}

/** Rows as they are after the locks were taken: the chain, reservations, counters, accounts, fences, and the server with its writers. */
export function readRows(chainId: number, wanted: WantedRows): readonly Statement[] {
  const reservations = [...wanted.reservations];
  const parties = [...wanted.parties];
  return [
    {
      name: 'read-chain',
      text: 'SELECT * FROM usage.chain WHERE chain_id = $1',
      values: [chainId],
    },
    {
      name: 'read-reservations',
      text: `SELECT paymaster_id, entry_point, sender, nonce, party, locks, counters, accounts, terms
        FROM usage.reservation WHERE ${ofChain} AND name = ANY(ARRAY(${held('name', '$2', '$3')}))`,
      values: [chainId, reservations, parties],
    },
    {
      name: 'read-counters',
      text: `SELECT name, until, used, reserved, holders FROM usage.counter WHERE ${ofChain}
        AND name = ANY(ARRAY(SELECT unnest($2::text[]) UNION (${held('unnest(counters)', '$3', '$4')})))`,
      values: [chainId, [...wanted.counters], reservations, parties],
    },
    {
      name: 'read-accounts',
      text: `SELECT name, balance, read_at, reserved, holders FROM usage.account WHERE ${ofChain}
        AND name = ANY(ARRAY(SELECT unnest($2::text[]) UNION (${held('unnest(accounts)', '$3', '$4')})))`,
      values: [chainId, [...wanted.accounts], reservations, parties],
    },
    {
      name: 'read-fences',
      text: `SELECT id, generation, seen_at, is_suspended FROM usage.fence WHERE chain_id = $1 AND id = ANY($2::text[])`,
      values: [chainId, [...wanted.fences]],
    },
    readServer,
  ];
}

/**
 * What the server is, and how far all writers have come: one statement, so that a writer whose row is removed meanwhile is counted once.
 * A promoted standby has another timeline, a restored or exchanged server another identifier.
 */
export const readServer: Statement = {
  name: 'read-server',
  text: `SELECT format, retired_sequence, system_identifier, timeline,
      (SELECT system_identifier::text FROM pg_control_system()) AS system_now,
      substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) AS timeline_now,
      current_setting('synchronous_standby_names') <> '' AS waits_for_standby,
      ${serverNow} AS now,
      writer.id, sequence, turn, at, is_synchronous, retired_at
    FROM usage.database LEFT JOIN usage.writer ON true`,
};

/** Whether this server may be relied on, for {@link assertSafe}. */
export const readSafety: Statement = {
  name: 'read-safety',
  text: `SELECT pg_is_in_recovery() AS is_standby, current_setting('server_version_num')::int AS version,
      current_setting('synchronous_commit') AS synchronous_commit,
      current_setting('fsync') AS fsync, current_setting('full_page_writes') AS full_page_writes`,
};

/** The number of the turn, after its locks: turns that share a row are numbered in their order. */
export const nextTurn: Statement = { name: 'next-turn', text: `SELECT nextval('usage.turn') AS turn` };

export function writeWriter(
  id: string,
  row: { readonly sequence: number; readonly turn: number; readonly at: number },
  isSynchronous: boolean,
): Statement {
  return {
    name: 'write-writer',
    text: 'UPDATE usage.writer SET sequence = $2, turn = $3, at = $4, is_synchronous = $5, retired_at = NULL WHERE id = $1',
    values: [id, row.sequence, row.turn, row.at, isSynchronous],
  };
}

/** What a turn has changed; only statements that change anything. */
export function writeRows(chainId: number, changes: RowChanges, movesCursor: boolean): readonly Statement[] {
  const statements: Statement[] = [];
  const json = (name: string, text: string, rows: readonly object[]): void => {
    if (rows.length > 0) statements.push({ name, text, values: [chainId, JSON.stringify(rows)] });
  };
  const remove = (name: string, table: string, names: readonly string[]): void => {
    if (names.length > 0)
      statements.push({
        name,
        text: `DELETE FROM usage.${table} WHERE ${ofChain} AND name = ANY($2::text[])`,
        values: [chainId, names],
      });
  };
  const { chain } = changes;
  statements.push(
    movesCursor
      ? {
          name: 'write-cursor',
          text: `UPDATE usage.chain SET forgotten_until = greatest(forgotten_until, $2), block_number = $3, block_hash = $4,
            block_timestamp = $5, open_sequence = $6, open_done = $7 WHERE chain_id = $1`,
          values: [
            chainId,
            chain.forgottenUntil,
            chain.cursor?.blockNumber ?? null,
            chain.cursor?.blockHash ?? null,
            chain.cursor?.timestamp ?? null,
            chain.open?.sequence ?? null,
            chain.open?.done ?? null,
          ],
        }
      : {
          name: 'write-forgotten',
          text: 'UPDATE usage.chain SET forgotten_until = $2 WHERE chain_id = $1 AND forgotten_until < $2',
          values: [chainId, chain.forgottenUntil],
        },
  );
  json(
    'put-counters',
    `INSERT INTO usage.counter SELECT $1, t.* FROM json_to_recordset($2::json)
        AS t(name text, until bigint, used bigint, reserved bigint, holders integer)
      ON CONFLICT (chain_id, name) DO UPDATE
      SET until = excluded.until, used = excluded.used, reserved = excluded.reserved, holders = excluded.holders`,
    changes.counters
      .filter((row) => !isEmptyCounter(row))
      .map((row) => ({
        name: counterRow(row),
        until: row.until,
        used: row.used,
        reserved: row.reserved,
        holders: row.holders,
      })),
  );
  remove('remove-counters', 'counter', changes.counters.filter(isEmptyCounter).map(counterRow));
  json(
    'put-accounts',
    `INSERT INTO usage.account SELECT $1, t.* FROM json_to_recordset($2::json)
        AS t(name text, balance bigint, read_at bigint, reserved bigint, holders integer)
      ON CONFLICT (chain_id, name) DO UPDATE
      SET balance = excluded.balance, read_at = excluded.read_at, reserved = excluded.reserved, holders = excluded.holders`,
    changes.accounts
      .filter((row) => !isEmptyAccount(row))
      .map((row) => ({
        name: accountName(row),
        balance: row.balance ?? null,
        read_at: row.readAt ?? null,
        reserved: row.reserved,
        holders: row.holders,
      })),
  );
  remove('remove-accounts', 'account', changes.accounts.filter(isEmptyAccount).map(accountName));
  json(
    'put-fences',
    `INSERT INTO usage.fence SELECT $1, t.* FROM json_to_recordset($2::json)
        AS t(id text, generation bigint, seen_at bigint, is_suspended boolean)
      ON CONFLICT (chain_id, id) DO UPDATE SET generation = greatest(fence.generation, excluded.generation),
        seen_at = greatest(fence.seen_at, excluded.seen_at), is_suspended = excluded.is_suspended`,
    changes.fences.map((row) => ({
      id: row.id,
      generation: row.generation,
      seen_at: row.seenAt,
      is_suspended: row.isSuspended,
    })),
  );
  json(
    'put-reservations',
    `INSERT INTO usage.reservation SELECT $1, t.* FROM json_to_recordset($2::json)
        AS t(name text, operation text, party text, paymaster_id text, entry_point text, sender text, nonce text,
          valid_until bigint, commit_until bigint, locks text[], counters text[], accounts text[], terms text)
      ON CONFLICT (chain_id, name) DO UPDATE
      SET party = excluded.party, valid_until = excluded.valid_until, commit_until = excluded.commit_until,
        locks = excluded.locks, counters = excluded.counters, accounts = excluded.accounts, terms = excluded.terms`,
    changes.reservations.map(reservationRow),
  );
  remove('remove-reservations', 'reservation', changes.ended.map(reservationName));
  statements.push(...ledgerStatements(asEntries(changes.records)));
  for (const step of changes.steps)
    if ('takesBackAfter' in step)
      statements.push({
        name: 'take-back-steps',
        text: 'DELETE FROM usage.step WHERE chain_id = $1 AND block_number > $2',
        values: [chainId, step.takesBackAfter],
      });
    else statements.push(...addStep(chainId, step));
  if (changes.begun !== undefined)
    statements.push({
      name: 'begin-step',
      text: 'INSERT INTO usage.open_step VALUES ($1, $2) ON CONFLICT (chain_id) DO UPDATE SET step = excluded.step',
      values: [chainId, formatStep(changes.begun)],
    });
  else if (movesCursor && chain.open === undefined)
    statements.push({
      name: 'end-step',
      text: 'DELETE FROM usage.open_step WHERE chain_id = $1',
      values: [chainId],
    });
  return statements;
}

function addStep(
  chainId: number,
  { isContinued, ...step }: Exclude<StepChange, { readonly takesBackAfter: number }>,
): readonly Statement[] {
  const place = isContinued
    ? { name: 'add-part', next: 'number, part + 1', order: 'ORDER BY number DESC, part DESC LIMIT 1' }
    : { name: 'add-step', next: 'coalesce(max(number), 0) + 1, 0', order: '' };
  return [
    {
      name: place.name,
      text: `INSERT INTO usage.step (chain_id, number, part, block_number, endings, step)
        SELECT $1, ${place.next}, $2, $3, $4 FROM usage.step WHERE chain_id = $1 ${place.order}`,
      values: [chainId, step.next.blockNumber, step.ended.length, formatStep(step)],
    },
    // The newest step stays, however many reservations it ended.
    {
      name: 'trim-steps',
      text: `DELETE FROM usage.step WHERE chain_id = $1 AND number < (
          SELECT min(number) FROM (
            SELECT number, row_number() OVER newest AS place, sum(endings) OVER newest AS endings
            FROM (SELECT number, sum(endings) AS endings FROM usage.step WHERE chain_id = $1 GROUP BY number) AS whole
            WINDOW newest AS (ORDER BY number DESC)
          ) AS kept WHERE place = 1 OR (place <= ${maxTakenSteps} AND endings <= ${maxTakenEndings}))`,
      values: [chainId],
    },
  ];
}

function reservationRow(one: Reservation) {
  const { key, validUntil, commit: open } = one;
  return {
    name: reservationName(key),
    operation: operationKey(key),
    party: open === undefined ? null : partyName(key),
    paymaster_id: key.paymasterId,
    entry_point: key.entryPoint,
    sender: key.sender,
    nonce: key.nonce.toString(16),
    valid_until: validUntil,
    commit_until: open?.until ?? null,
    ...heldBy(open?.signed === undefined ? one : withSigned(one, open.signed)),
    terms: formatTerms(one),
  };
}

/** What the promises hold is part of what the reservation holds, except for limits whose windows have ended meanwhile. */
function withSigned(
  one: Reservation,
  signed: NonNullable<NonNullable<Reservation['commit']>['signed']>,
): Reservation {
  return {
    ...one,
    limits: [...one.limits, ...signed.limits],
    holds: [...one.holds, ...signed.holds],
    accounts: [...one.accounts, ...signed.accounts],
  };
}
