import type { PriceReferences } from '../../../core/pricing/price-jump.js';
import type { EpochMs } from '../../../core/units/time.js';
import type { PostgresProcess } from './process.js';
import { readText } from './turn-rows.js';

/** The last accepted prices, for all replicas. */
export function postgresPriceReferences(process: Pick<PostgresProcess, 'query'>): PriceReferences {
  return {
    async last(name) {
      const [row] = await process.query('SELECT rate, accepted_at FROM usage.price WHERE name = $1', [name]);
      if (row === undefined) return undefined;
      return { rate: BigInt(readText(row, 'rate')), acceptedAt: Number(row['accepted_at']) as EpochMs };
    },
    async keep(name, { rate, acceptedAt }) {
      await process.query(
        `INSERT INTO usage.price AS known VALUES ($1, $2, $3) ON CONFLICT (name) DO UPDATE
           SET rate = excluded.rate, accepted_at = excluded.accepted_at WHERE known.accepted_at < excluded.accepted_at`,
        [name, String(rate), acceptedAt],
      );
    },
  };
}
