import { v7 as recordId } from 'uuid';
import type { Change, ChangePage, ChangeQuery, ChangeWrite } from '../../../core/ledger/change.js';
import { isRecordId, minRecordId } from '../../../core/ledger/record-id.js';
import type { EpochMs } from '../../../core/units/time.js';
import { Values } from '../../postgres/transactions.js';
import { columns, columnNames } from './columns.js';
import type { Reader } from './reader.js';
import { recordDay, parseJsonColumn, type Row } from './record-rows.js';
import { storable, storableJson } from './text.js';

/** Records of an organisation and day (UTC), so that a tenant fills some megabytes at most. */
const maxChanges = 2_000;

/** A write is one record, with the token that made it. */
export async function recordChange({ dialect, query }: Reader, write: ChangeWrite): Promise<void> {
  const { at, organisation, action, object, author, fields } = write;
  if (fields.length === 0) return;
  // Those of one object and millisecond are in the order of their generations.
  const id = recordId({ msecs: at, seq: 2 * object.generation + (action === 'deleted' ? 1 : 0) });
  const table = dialect.table('change');
  const [last] = await query(
    `SELECT count(*) AS records, max(CAST(id AS text)) AS id FROM ${table} WHERE organisation = $1 AND day = $2`,
    [organisation, recordDay(id)],
  );
  if (Number(last?.['records']) >= maxChanges) {
    await query(`UPDATE ${table} SET left_out = left_out + 1 WHERE id = $1 AND day = $2`, [
      String(last?.['id']),
      recordDay(id),
    ]);
    return;
  }
  const row = {
    day: recordDay(id),
    id,
    at,
    organisation,
    action,
    ...object,
    author: storable(author.name),
    request_id: author.requestId,
    fields: storableJson(fields),
    left_out: 0,
  };
  const names = columnNames('change');
  const cells = names.map((name) => (name === 'fields' ? dialect.json(name) : name));
  await query(
    `INSERT INTO ${table} (${names.join(', ')}) SELECT ${cells.join(', ')} FROM ${dialect.rows('$1', 'added', columns.change)}`,
    [JSON.stringify([row])],
  );
}

export async function readChanges({ dialect, query: ask }: Reader, query: ChangeQuery): Promise<ChangePage> {
  const { from, to, before, limit, kind, name, author } = query;
  const values = new Values();
  const below = before !== undefined && isRecordId(before) ? before : minRecordId(to);
  const first = minRecordId(from);
  const conditions = [
    `organisation = ${values.add(query.organisation)}`,
    `id >= ${values.add(first)} AND id < ${values.add(below)}`,
    `day >= ${values.add(recordDay(first))} AND day <= ${values.add(recordDay(below))}`,
    ...Object.entries({ kind, name, author }).flatMap(([column, value]) =>
      value === undefined ? [] : [`${column} = ${values.add(value)}`],
    ),
  ];
  const rows = await ask(
    // Ids rise with days; the index has both, so a page is read from its begin to its end and nothing is sorted.
    `SELECT * FROM ${dialect.table('change')} WHERE ${conditions.join(' AND ')} ORDER BY day DESC, id DESC LIMIT ${limit + 1}`,
    values.list,
  );
  const changes = rows.slice(0, limit).map(toChange);
  return { changes, next: rows.length > limit ? changes.at(-1)?.id : undefined };
}

function toChange(row: Row): Change {
  return {
    id: String(row['id']),
    at: Number(row['at']) as EpochMs,
    organisation: String(row['organisation']),
    action: String(row['action']) as Change['action'],
    object: {
      kind: String(row['kind']),
      namespace: String(row['namespace']),
      name: String(row['name']),
      uid: String(row['uid']),
      generation: Number(row['generation']),
    },
    author: { name: String(row['author']), requestId: String(row['request_id']) },
    fields: parseJsonColumn(row['fields']) as Change['fields'],
    leftOut: Number(row['left_out']),
  };
}
