import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase } from '../../../adapters/sqlite/database.js';
import { paymaster } from '../fixture.js';
import { serveBare, type Waiting } from './bare.js';

/**
 * The durable limit: a promise to pay must not be forgotten, so no service that keeps its promises can beat this one. The bare server
 * commits one row for each operation and two counters with a sync of the disk, all of a turn in one transaction, before it signs.
 */
const db = openDatabase(join(mkdtempSync(join(tmpdir(), 'paymaster-bench-')), 'limit.db'), {
  durability: 'power',
});
db.sql.exec(`
  CREATE TABLE promises (
    id INTEGER PRIMARY KEY, digest BLOB NOT NULL, sender TEXT NOT NULL, nonce TEXT NOT NULL, paymaster TEXT NOT NULL,
    cost INTEGER NOT NULL, validity TEXT NOT NULL
  );
  CREATE TABLE counters (name TEXT PRIMARY KEY, held INTEGER NOT NULL) WITHOUT ROWID;
  INSERT INTO counters VALUES ('operations', 0), ('gwei', 0);
`);
const insert = db.sql.prepare('INSERT INTO promises VALUES (NULL, ?, ?, ?, ?, ?, ?)');
const count = db.sql.prepare('UPDATE counters SET held = ? WHERE name = ?');
let operations = 0;
let gwei = 0;

await serveBare((turn) => db.transaction(() => keep(turn)));

function keep(turn: readonly Waiting[]): void {
  for (const { digest, op, validity } of turn) {
    const cost = costOf(op);
    insert.run(digest, op['sender'] ?? '', op['nonce'] ?? '', paymaster, cost, validity);
    operations += 1;
    gwei += cost;
  }
  count.run(operations, 'operations');
  count.run(gwei, 'gwei');
}

function costOf(op: Waiting['op']): number {
  const gas =
    Number(op['callGasLimit']) + 3 * Number(op['verificationGasLimit']) + Number(op['preVerificationGas']);
  return Math.ceil((gas * Number(op['maxFeePerGas'])) / 1e9);
}
