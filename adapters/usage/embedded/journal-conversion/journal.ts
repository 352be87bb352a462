import type { Database } from '../../../sqlite/database.js';
import { integerOf, textOf } from '../../../sqlite/row.js';

/**
 * One row of the former format is a JSON list of operations, each of which states the values after it. Texts that
 * repeat were named once and written as their number, 0 for none:
 *
 *     n number, paymaster id · a number, address · w number, policy, cycle start, duration, index, unit (0 COUNT)
 *     g paymaster, generation · c window, subject, used · b chain, contract, funding, balance, read at
 *     h chain, block number, block hash, timestamp · e chain, epoch id, since · p forgotten until
 *     f paymaster id (text), message or null, expiry · d chain, paymaster, EntryPoint, sender, nonce in hex
 *     r chain, paymaster, EntryPoint, sender, nonce in hex, contract, mode (1 ERC20), funding, validUntil,
 *       counters as triples (window, subject: 0 none, 1 the sender, else text; cost), accounts as triples
 *       (contract, funding, need), and perhaps a hash
 */
export type JournalOp = { readonly letter: string; readonly fields: readonly unknown[] };

export function isJournal({ sql }: Database): boolean {
  return sql.prepare(`SELECT 1 FROM sqlite_schema WHERE name = 'journal'`).get() !== undefined;
}

/** The image in force and the rows written since. Throws SyntaxError or RangeError for any other row. */
export function* readJournal({ sql }: Database): IterableIterator<JournalOp> {
  const meta = new Map(
    sql
      .prepare('SELECT key, value FROM meta')
      .all()
      .map((row) => [textOf(row, 'key'), integerOf(row, 'value')]),
  );
  const image = sql.prepare('SELECT ops FROM image WHERE generation = ? ORDER BY seq');
  const journal = sql.prepare('SELECT ops FROM journal WHERE seq > ? ORDER BY seq');
  for (const row of image.iterate(meta.get('generation') ?? 0)) yield* parse(textOf(row, 'ops'));
  for (const row of journal.iterate(meta.get('base') ?? 0)) yield* parse(textOf(row, 'ops'));
}

export function dropJournal({ sql }: Database): void {
  sql.exec('DROP TABLE journal; DROP TABLE image;');
}

function* parse(text: string): IterableIterator<JournalOp> {
  const ops: unknown = JSON.parse(text);
  if (!Array.isArray(ops)) throw new RangeError('a row of the usage journal is not a list');
  for (const op of ops) {
    if (!Array.isArray(op) || typeof op[0] !== 'string')
      throw new RangeError(`the usage journal has an unknown entry ${JSON.stringify(op)}`);
    yield { letter: op[0], fields: op.slice(1) };
  }
}
