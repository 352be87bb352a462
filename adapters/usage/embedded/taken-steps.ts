import type { RowChanges } from '../../../core/usage/rows.js';
import { mostTakenEndings, mostTakenSteps, stepsTo } from '../../../core/usage/taken-step.js';
import type { Cursor, TakenStep } from '../../../core/usage/usage-store.js';
import { isFull, type Database } from '../../sqlite/database.js';
import { textOf } from '../../sqlite/row.js';
import { formatStep, parseStep } from '../step-text.js';

/** The last steps of each chain, one row per step. */
export const takenStepsSchema = `
  CREATE TABLE usage_taken_steps (
    chain_id INTEGER NOT NULL, number INTEGER NOT NULL, block_number INTEGER NOT NULL, endings INTEGER NOT NULL,
    step TEXT NOT NULL, PRIMARY KEY (chain_id, number)
  ) STRICT, WITHOUT ROWID;
`;

export type TakenSteps = {
  /** Inside the transaction that writes the chain. */
  put(chainId: number, steps: RowChanges['steps']): void;
  /** The steps that lead to the cursor. */
  read(chainId: number, cursor: Cursor | undefined): readonly TakenStep[];
};

export function createTakenSteps({ sql }: Database): TakenSteps {
  const add = sql.prepare(
    `INSERT INTO usage_taken_steps SELECT ?1, coalesce(max(number), 0) + 1, ?2, ?3, ?4
     FROM usage_taken_steps WHERE chain_id = ?1`,
  );
  const takeBack = sql.prepare('DELETE FROM usage_taken_steps WHERE chain_id = ? AND block_number > ?');
  // The newest step stays, however many reservations it ended.
  const trim = sql.prepare(
    `DELETE FROM usage_taken_steps WHERE chain_id = ?1 AND number < (
       SELECT min(number) FROM (
         SELECT number, row_number() OVER newest AS place, sum(endings) OVER newest AS endings
         FROM usage_taken_steps WHERE chain_id = ?1 WINDOW newest AS (ORDER BY number DESC)
       ) WHERE place = 1 OR (place <= ${mostTakenSteps} AND endings <= ${mostTakenEndings}))`,
  );
  const all = sql.prepare('SELECT step FROM usage_taken_steps WHERE chain_id = ? ORDER BY number');

  function keep(chainId: number, step: TakenStep): void {
    try {
      add.run(chainId, step.next.blockNumber, step.ended.length, formatStep(step));
      trim.run(chainId);
    } catch (error) {
      if (!isFull(error) || !sql.isTransaction) throw error;
      // Ending reservations makes room on a full disk, so it goes first. Without its last step none can be taken back.
      takeBack.run(chainId, -1);
    }
  }

  return {
    put(chainId, steps) {
      for (const step of steps)
        if ('takesBackAfter' in step) takeBack.run(chainId, step.takesBackAfter);
        else keep(chainId, step);
    },
    read: (chainId, cursor) =>
      stepsTo(
        cursor,
        all.all(chainId).map((row) => parseStep(textOf(row, 'step'))),
      ),
  };
}
