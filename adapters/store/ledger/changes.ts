import { v7 as recordId } from 'uuid';
import {
  authorOf,
  changedFields,
  type Author,
  type Change,
  type ChangePage,
  type ChangeQuery,
  type ChangeWrite,
  type Deleted,
  type DeletedQuery,
  type Fields,
  type ObjectVersion,
} from '../../../core/ledger/change.js';
import { isRecordId, lowestRecordId } from '../../../core/ledger/record-id.js';
import type { EpochMs } from '../../../core/units/time.js';
import { Values } from '../../postgres/transactions.js';
import { columns, namesOf } from './columns.js';
import type { Reader } from './reader.js';
import { dayOf, jsonOf, type Row } from './record-rows.js';
import { storable, storableJson } from './text.js';

/** Records of an organisation and day (UTC), so that a tenant fills some megabytes at most. */
const mostChanges = 2_000;

/**
 * Records what a write changed, in a transaction that no other record of the object runs in. What is known of the object says whether it
 * was recorded before: of the same generation only the token is added, which the operator cannot see.
 */
export async function recordChange(reader: Reader, write: ChangeWrite): Promise<void> {
  const { object, fields, author } = write;
  const known = await knownState(reader, object);
  if (fields === undefined) {
    if (known === undefined || known.object.uid !== object.uid) return nameAuthor(reader, write);
    await forget(reader, object);
    return add(reader, write, 'deleted', known);
  }
  if (known !== undefined && known.object.uid !== object.uid) {
    await forget(reader, object);
    await add(
      reader,
      { ...write, ...known, at: (write.at - 1) as EpochMs, fields: undefined, author: nobody },
      'deleted',
      known,
    );
  }
  const same = known?.object.uid === object.uid ? known : undefined;
  if (same !== undefined && same.object.generation >= object.generation) return nameAuthor(reader, write);
  await remember(reader, write);
  if (same !== undefined) return add(reader, write, 'changed', same);
  // An object that was changed before anybody looked was not made now.
  if (author.source === 'token' || object.generation === 1) await add(reader, write, 'created', undefined);
}

const nobody: Author = { source: 'manager', name: undefined };

type State = { readonly object: ObjectVersion; readonly fields: Fields };

async function knownState({ dialect, query }: Reader, object: ObjectVersion): Promise<State | undefined> {
  const [row] = await query(
    `SELECT * FROM ${dialect.table('object')} WHERE kind = $1 AND namespace = $2 AND name = $3`,
    [object.kind, object.namespace, object.name],
  );
  return row && { object: objectOf(row), fields: jsonOf(row['fields']) as Fields };
}

async function forget({ dialect, query }: Reader, { kind, namespace, name }: ObjectVersion): Promise<void> {
  await query(`DELETE FROM ${dialect.table('object')} WHERE kind = $1 AND namespace = $2 AND name = $3`, [
    kind,
    namespace,
    name,
  ]);
}

async function remember({ dialect, query }: Reader, { object, fields }: ChangeWrite): Promise<void> {
  const { kind, namespace, name, uid, generation } = object;
  await query(
    `INSERT INTO ${dialect.table('object')} (kind, namespace, name, uid, generation, fields)
     VALUES ($1, $2, $3, $4, $5, ${dialect.json('$6')})
     ON CONFLICT (kind, namespace, name) DO UPDATE
     SET uid = excluded.uid, generation = excluded.generation, fields = excluded.fields`,
    [kind, namespace, name, uid, generation, storableJson(fields)],
  );
}

async function add(
  { dialect, query }: Reader,
  { at, organisation, object, fields, author }: ChangeWrite,
  action: Change['action'],
  known: State | undefined,
): Promise<void> {
  const changed = changedFields(known?.fields, fields);
  if (changed.length === 0) return;
  // Those of one object and millisecond are in the order of their generations.
  const id = recordId({ msecs: at, seq: 2 * object.generation + (action === 'deleted' ? 1 : 0) });
  const table = dialect.table('change');
  const [last] = await query(
    `SELECT count(*) AS records, max(CAST(id AS text)) AS id FROM ${table} WHERE organisation = $1 AND day = $2`,
    [organisation, dayOf(id)],
  );
  if (Number(last?.['records']) >= mostChanges) {
    await query(`UPDATE ${table} SET left_out = left_out + 1 WHERE id = $1 AND day = $2`, [
      String(last?.['id']),
      dayOf(id),
    ]);
    return;
  }
  const writer = authorOf(author, changed, fields);
  const row = {
    day: dayOf(id),
    id,
    at,
    organisation,
    action,
    ...object,
    source: writer.source,
    author: writer.name === undefined ? null : storable(writer.name),
    request_id: writer.source === 'token' ? writer.requestId : null,
    fields: storableJson(changed),
    left_out: 0,
  };
  const names = namesOf('change');
  const cells = names.map((name) => (name === 'fields' ? dialect.json(name) : name));
  await query(
    `INSERT INTO ${table} (${names.join(', ')}) SELECT ${cells.join(', ')} FROM ${dialect.rows('$1', 'added', columns.change)}`,
    [JSON.stringify([row])],
  );
}

/** The operator was faster: it saw the same generation, or that the object is gone. */
async function nameAuthor(
  { dialect, query }: Reader,
  { object, organisation, fields, author, at }: ChangeWrite,
): Promise<void> {
  if (author.source !== 'token') return;
  const { uid, generation } = object;
  const which = fields === undefined ? `action = 'deleted'` : `action <> 'deleted' AND generation = $7`;
  await query(
    `UPDATE ${dialect.table('change')} SET source = 'token', author = $1, request_id = $2
     WHERE organisation = $3 AND day BETWEEN $4 - 1 AND $4 + 1 AND uid = $5 AND source = $6 AND ${which}`,
    [
      storable(author.name),
      author.requestId,
      organisation,
      dayOf(lowestRecordId(at)),
      uid,
      'manager',
      ...(fields === undefined ? [] : [generation]),
    ],
  );
}

export async function knownObjects({ dialect, query }: Reader): Promise<readonly ObjectVersion[]> {
  const rows = await query(`SELECT kind, namespace, name, uid, generation FROM ${dialect.table('object')}`);
  return rows.map(objectOf);
}

export async function readChanges({ dialect, query: ask }: Reader, query: ChangeQuery): Promise<ChangePage> {
  const { from, to, before, limit, kind, name, author } = query;
  const values = new Values();
  const below = before !== undefined && isRecordId(before) ? before : lowestRecordId(to);
  const first = lowestRecordId(from);
  const conditions = [
    `organisation = ${values.add(query.organisation)}`,
    `id >= ${values.add(first)} AND id < ${values.add(below)}`,
    `day >= ${values.add(dayOf(first))} AND day <= ${values.add(dayOf(below))}`,
    ...Object.entries({ kind, name, author }).flatMap(([column, value]) =>
      value === undefined ? [] : [`${column} = ${values.add(value)}`],
    ),
  ];
  const rows = await ask(
    // Ids rise with days; the index has both, so a page is read from its begin to its end and nothing is sorted.
    `SELECT * FROM ${dialect.table('change')} WHERE ${conditions.join(' AND ')} ORDER BY day DESC, id DESC LIMIT ${limit + 1}`,
    values.list,
  );
  const changes = rows.slice(0, limit).map(changeOf);
  return { changes, next: rows.length > limit ? changes.at(-1)?.id : undefined };
}

const mostDeleted = 1_000;

export async function readDeleted(
  { dialect, query }: Reader,
  { organisation, kind }: DeletedQuery,
): Promise<readonly Deleted[]> {
  const rows = await query(
    `SELECT name, fields FROM ${dialect.table('change')} WHERE organisation = $1 AND kind = $2 AND action = 'deleted'
     ORDER BY day DESC, id DESC LIMIT ${mostDeleted}`,
    [organisation, kind],
  );
  // The oldest first: of several of a name the last one counts.
  return rows.toReversed().map((row) => {
    const fields = jsonOf(row['fields']) as Change['fields'];
    const shown = fields.find(({ field }) => field === 'spec.name')?.before ?? undefined;
    return { name: String(row['name']), shown: shown === undefined ? undefined : unquoted(shown) };
  });
}

/** A name that was cut stays as it was shown. */
function unquoted(shown: string): string {
  try {
    return String(JSON.parse(shown));
  } catch {
    return shown;
  }
}

function objectOf(row: Row): ObjectVersion {
  return {
    kind: String(row['kind']),
    namespace: String(row['namespace']),
    name: String(row['name']),
    uid: String(row['uid']),
    generation: Number(row['generation']),
  };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function changeOf(row: Row): Change {
  const name = textOf(row['author']);
  return {
    id: String(row['id']),
    at: Number(row['at']) as EpochMs,
    action: String(row['action']) as Change['action'],
    object: objectOf(row),
    author:
      row['source'] === 'token'
        ? { source: 'token', name: name ?? '', requestId: String(row['request_id']) }
        : { source: 'manager', name },
    fields: jsonOf(row['fields']) as Change['fields'],
    leftOut: Number(row['left_out']),
  };
}
