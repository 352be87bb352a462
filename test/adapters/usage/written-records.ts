import { DatabaseSync } from 'node:sqlite';
import type { WrittenRecord } from '../../conformance/step-records.js';
import type { SharedPostgres } from '../../support/postgres.js';

const query = (decision: string, settlement: string): string =>
  `SELECT id, reservation, 'decision' AS kind FROM ${decision} UNION ALL SELECT id, reservation, kind FROM ${settlement} ORDER BY id`;

/** The decisions and endings in the file of an embedded store, in the order of their ids. */
export function recordsInFile(path: string): readonly WrittenRecord[] {
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    return db.prepare(query('ledger_decision', 'ledger_settlement')).all().map(recordOf);
  } finally {
    db.close();
  }
}

export async function recordsInPostgres(
  server: SharedPostgres,
  url: string,
): Promise<readonly WrittenRecord[]> {
  return (await server.query(url, query('ledger.decision', 'ledger.settlement'))).map(recordOf);
}

/** Answers those that it has not answered before. */
export function newRecords(
  read: () => readonly WrittenRecord[] | Promise<readonly WrittenRecord[]>,
): () => Promise<readonly WrittenRecord[]> {
  const seen = new Set<string>();
  return async () => {
    const found = (await read()).filter(({ id }) => !seen.has(id));
    for (const { id } of found) seen.add(id);
    return found;
  };
}

function recordOf(row: Readonly<Record<string, unknown>>): WrittenRecord {
  const { id, reservation, kind } = row;
  return { reservation: reservation ?? undefined, id, kind } as WrittenRecord;
}
