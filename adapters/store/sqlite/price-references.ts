import type { PriceReferences } from '../../../core/pricing/price-jump.js';
import type { EpochMs } from '../../../core/units/time.js';
import type { Database } from '../../sqlite/database.js';
import { readInteger, readText } from '../../sqlite/row.js';

export const priceSchema = `
  CREATE TABLE usage_prices (name TEXT PRIMARY KEY, rate TEXT NOT NULL, accepted_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
`;

/** The last accepted prices, in the database whose limits they are used for. */
export function createSqlitePriceReferences(db: Database): PriceReferences {
  const find = db.sql.prepare('SELECT rate, accepted_at FROM usage_prices WHERE name = ?');
  const put = db.sql.prepare(
    `INSERT INTO usage_prices VALUES (?, ?, ?) ON CONFLICT DO UPDATE
       SET rate = excluded.rate, accepted_at = excluded.accepted_at WHERE accepted_at < excluded.accepted_at`,
  );
  return {
    last: async (name) => {
      const row = db.run(() => find.get(name));
      if (row === undefined) return undefined;
      return { rate: BigInt(readText(row, 'rate')), acceptedAt: readInteger(row, 'accepted_at') as EpochMs };
    },
    keep: async (name, { rate, acceptedAt }) => {
      db.run(() => put.run(name, String(rate), acceptedAt));
    },
  };
}
