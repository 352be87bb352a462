import type { SQLInputValue } from 'node:sqlite';
import { getAt, type Tree } from '../../../core/meta/field-tree.js';
import type { Kind, Resources } from '../../../core/resources/kinds.js';
import { apiVersion, type ManagedFields, type ObjectKey, type ObjectMeta } from '../../../core/meta/meta.js';
import type { ListOptions } from '../../../core/resources/resource-store.js';
import { definitions } from '../../../core/resources/schemas.js';
import { invalidInput, quote } from '../../../core/errors.js';
import { openReader, type Database } from '../../sqlite/database.js';
import { migrate } from '../../sqlite/migrate.js';
import { readInteger, type Row, readText } from '../../sqlite/row.js';

/** Any resource, while the compiler does not know its kind. */
export type StoredObject = {
  readonly apiVersion: typeof apiVersion;
  readonly kind: Kind;
  readonly metadata: ObjectMeta & { readonly managedFields: readonly ManagedFields[] };
  readonly spec: Tree;
  readonly status?: Tree;
};

export type ResourceRows = ReturnType<typeof createResourceRows>;

const steps = [
  `CREATE TABLE resources (
     kind TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,
     metadata TEXT NOT NULL, spec TEXT NOT NULL, status TEXT,
     PRIMARY KEY (kind, namespace, name)
   ) STRICT;
   -- One row per selectable field, so that look-ups by name or reference stay fast at any number of objects.
   CREATE TABLE resource_fields (
     kind TEXT NOT NULL, field TEXT NOT NULL, value TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,
     PRIMARY KEY (kind, field, value, namespace, name),
     FOREIGN KEY (kind, namespace, name) REFERENCES resources ON DELETE CASCADE
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX resource_fields_by_object ON resource_fields (kind, namespace, name);
   CREATE TABLE resource_version (id INTEGER PRIMARY KEY CHECK (id = 1), value INTEGER NOT NULL) STRICT;
   INSERT INTO resource_version VALUES (1, 0);`,
];

const columns = 'r.kind, r.metadata, r.spec, r.status';

export function createResourceRows(database: Database) {
  migrate(database, 'resources', steps);
  const { sql } = database;
  const one = sql.prepare(`SELECT ${columns} FROM resources r WHERE kind = ? AND namespace = ? AND name = ?`);
  const slice = sql.prepare(
    `SELECT ${columns} FROM resources r WHERE kind = ? AND (namespace, name) > (?, ?) ORDER BY namespace, name LIMIT ?`,
  );
  const insert = sql.prepare(
    `INSERT INTO resources (kind, namespace, name, metadata, spec, status) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET metadata = excluded.metadata, spec = excluded.spec, status = excluded.status`,
  );
  const remove = sql.prepare('DELETE FROM resources WHERE kind = ? AND namespace = ? AND name = ?');
  const forgetFields = sql.prepare(
    'DELETE FROM resource_fields WHERE kind = ? AND namespace = ? AND name = ?',
  );
  const addField = sql.prepare('INSERT INTO resource_fields VALUES (?, ?, ?, ?, ?)');
  const bump = sql.prepare('UPDATE resource_version SET value = value + 1 RETURNING value');

  return {
    get: (kind: Kind, { namespace = '', name }: ObjectKey): StoredObject | undefined => {
      const row = one.get(kind, namespace, name);
      return row === undefined ? undefined : parseRow(row);
    },

    list: (kind: Kind, options: ListOptions): StoredObject[] => {
      const { from, where, values } = selection(kind, options);
      return sql
        .prepare(`SELECT ${columns} FROM ${from} WHERE ${where} ORDER BY r.namespace, r.name`)
        .all(...values)
        .map(parseRow);
    },

    /** As `list`, the next `limit` after a key. */
    listAfter: (
      kind: Kind,
      options: ListOptions,
      after: ObjectKey | undefined,
      limit: number,
    ): StoredObject[] => {
      const { from, where, values } = selection(kind, options);
      // Of the index that selects: sorting would read every object.
      const key = from.startsWith('resource_fields') ? 'f0' : 'r';
      return sql
        .prepare(
          `SELECT ${columns} FROM ${from} WHERE ${where} AND (${key}.namespace, ${key}.name) > (?, ?)
           ORDER BY ${key}.namespace, ${key}.name LIMIT ?`,
        )
        .all(...values, after?.namespace ?? '', after?.name ?? '', limit)
        .map(parseRow);
    },

    /** The next objects after `after` in the order of namespace and name, to read everything in slices. */
    page: (kind: Kind, after: ObjectKey | undefined, size: number): StoredObject[] =>
      slice.all(kind, after?.namespace ?? '', after?.name ?? '', size).map(parseRow),

    put: (object: StoredObject): void => {
      const { kind, metadata, spec, status } = object;
      const id = [kind, metadata.namespace ?? '', metadata.name] as const;
      const text = status === undefined ? null : JSON.stringify(status);
      insert.run(...id, JSON.stringify(metadata), JSON.stringify(spec), text);
      forgetFields.run(...id);
      for (const field of definitions[kind].selectableFields) {
        const value = selectableText(getAt(object, field.split('.')));
        if (value !== undefined) addField.run(kind, field, value, id[1], id[2]);
      }
    },

    delete: (kind: Kind, { namespace = '', name }: ObjectKey): void => {
      remove.run(kind, namespace, name);
    },

    /** A number that was never given before. It is rolled back with its transaction. */
    nextVersion: (): string => String(readInteger(bump.get() ?? {}, 'value')),
  };
}

/** Everything that a file holds. Another process may be using it. Throws UNAVAILABLE. */
export function readStoredObjects(path: string): readonly StoredObject[] {
  const reader = openReader(path);
  try {
    return reader.run(() => reader.sql.prepare(`SELECT ${columns} FROM resources r`).all().map(parseRow));
  } finally {
    reader.close();
  }
}

type Selection = {
  readonly from: string;
  readonly where: string;
  readonly values: readonly SQLInputValue[];
};

/**
 * Starts from the most selective field and looks the others up per object, instead of collecting each field's objects.
 */
function selection(kind: Kind, { namespace, fields = {} }: ListOptions): Selection {
  const { selectableFields } = definitions[kind];
  const problems = Object.keys(fields)
    .filter((field) => !selectableFields.includes(field))
    .map((field) => ({
      field: 'fieldSelector',
      expected: `one of ${selectableFields.join(', ')} for ${kind}`,
      value: quote(field),
    }));
  if (problems.length > 0) throw invalidInput(problems);
  const tables: string[] = [];
  const clauses: string[] = [];
  const values: SQLInputValue[] = [];
  for (const field of selectableFields) {
    const value = Object.hasOwn(fields, field) ? fields[field] : undefined;
    if (value === undefined) continue;
    const table = `f${tables.length}`;
    tables.push(`resource_fields ${table}`);
    clauses.push(`${table}.kind = ? AND ${table}.field = ? AND ${table}.value = ?`);
    values.push(kind, field, value);
    if (namespace !== undefined) {
      clauses.push(`${table}.namespace = ?`);
      values.push(namespace);
    }
    clauses.push(`r.namespace = ${table}.namespace AND r.name = ${table}.name`);
    if (table !== 'f0') clauses.push(`${table}.namespace = f0.namespace AND ${table}.name = f0.name`);
  }
  clauses.push('r.kind = ?');
  values.push(kind);
  if (namespace !== undefined) {
    clauses.push('r.namespace = ?');
    values.push(namespace);
  }
  // CROSS JOIN keeps the order of the tables.
  return { from: [...tables, 'resources r'].join(' CROSS JOIN '), where: clauses.join(' AND '), values };
}

/** Only `put` writes rows, from validated objects, so a row holds a valid object. */
function parseRow(row: Row): StoredObject {
  return {
    apiVersion,
    kind: readText(row, 'kind') as Kind,
    metadata: JSON.parse(readText(row, 'metadata')) as StoredObject['metadata'],
    spec: JSON.parse(readText(row, 'spec')) as Tree,
    ...(row['status'] !== null && { status: JSON.parse(readText(row, 'status')) as Tree }),
  };
}

/** Selectable fields are texts and whole numbers; lists select by their text. */
function selectableText(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

/** Narrows a stored object to its kind: its spec and status passed the schema of the kind when they were written. */
export function typed<K extends Kind>(object: StoredObject): Resources[K] {
  return object as unknown as Resources[K];
}
