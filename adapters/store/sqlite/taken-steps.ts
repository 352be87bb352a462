import type { RowChanges } from '../../../core/usage/rows.js';
import { joinParts, maxTakenEndings, maxTakenSteps, stepsTo } from '../../../core/usage/taken-step.js';
import type { Cursor, FollowerStep, TakenStep } from '../../../core/usage/follower-step.js';
import { isFull, type Database } from '../../sqlite/database.js';
import { readInteger, readText } from '../../sqlite/row.js';
import { formatStep, parseOpenStep, parseStep } from '../step-text.js';

/** The last steps of each chain, one row per part of a step, and the step of a chain that is open. */
export const takenStepsSchema = `
  CREATE TABLE usage_taken_steps (
    chain_id INTEGER NOT NULL, number INTEGER NOT NULL, part INTEGER NOT NULL, block_number INTEGER NOT NULL,
    endings INTEGER NOT NULL, step TEXT NOT NULL, PRIMARY KEY (chain_id, number, part)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE usage_open_steps (chain_id INTEGER PRIMARY KEY, step TEXT NOT NULL) STRICT;
`;

type TakenSteps = {
  /** Inside the transaction that writes the chain. */
  put(chainId: number, changes: Pick<RowChanges, 'steps' | 'begun' | 'chain'>, wasOpen: boolean): void;
  /** The text of the step that is open. */
  open(chainId: number): FollowerStep | undefined;
  /** The steps that lead to the cursor. */
  read(chainId: number, cursor: Cursor | undefined): readonly TakenStep[];
};

export function createTakenSteps({ sql }: Database): TakenSteps {
  const add = sql.prepare(
    `INSERT INTO usage_taken_steps SELECT ?1, coalesce(max(number), 0) + 1, 0, ?2, ?3, ?4
     FROM usage_taken_steps WHERE chain_id = ?1`,
  );
  const addPart = sql.prepare(
    `INSERT INTO usage_taken_steps SELECT ?1, number, part + 1, ?2, ?3, ?4
     FROM usage_taken_steps WHERE chain_id = ?1 ORDER BY number DESC, part DESC LIMIT 1`,
  );
  const takeBack = sql.prepare('DELETE FROM usage_taken_steps WHERE chain_id = ? AND block_number > ?');
  // The newest step stays, however many reservations it ended.
  const trim = sql.prepare(
    `DELETE FROM usage_taken_steps WHERE chain_id = ?1 AND number < (
       SELECT min(number) FROM (
         SELECT number, row_number() OVER newest AS place, sum(endings) OVER newest AS endings
         FROM (SELECT number, sum(endings) AS endings FROM usage_taken_steps WHERE chain_id = ?1 GROUP BY number)
         WINDOW newest AS (ORDER BY number DESC)
       ) WHERE place = 1 OR (place <= ${maxTakenSteps} AND endings <= ${maxTakenEndings}))`,
  );
  const all = sql.prepare(
    'SELECT number, step FROM usage_taken_steps WHERE chain_id = ? ORDER BY number, part',
  );

  const begin = sql.prepare('REPLACE INTO usage_open_steps VALUES (?, ?)');
  const end = sql.prepare('DELETE FROM usage_open_steps WHERE chain_id = ?');
  const opened = sql.prepare('SELECT step FROM usage_open_steps WHERE chain_id = ?');

  function insertStep(
    chainId: number,
    { isContinued, ...step }: TakenStep & { readonly isContinued?: true },
  ): void {
    try {
      (isContinued ? addPart : add).run(chainId, step.next.blockNumber, step.ended.length, formatStep(step));
      trim.run(chainId);
    } catch (error) {
      if (!isFull(error) || !sql.isTransaction) throw error;
      // Ending reservations makes room on a full disk, so it goes first. Without its last step none can be taken back.
      takeBack.run(chainId, -1);
    }
  }

  return {
    put(chainId, { steps, begun, chain }, wasOpen) {
      if (begun !== undefined) begin.run(chainId, formatStep(begun));
      else if (wasOpen && chain.open === undefined) end.run(chainId);
      for (const step of steps)
        if ('takesBackAfter' in step) takeBack.run(chainId, step.takesBackAfter);
        else insertStep(chainId, step);
    },
    read: (chainId, cursor) =>
      stepsTo(
        cursor,
        joinParts(
          all
            .all(chainId)
            .map((row) => ({ number: readInteger(row, 'number'), step: parseStep(readText(row, 'step')) })),
        ),
      ),
    open(chainId) {
      const row = opened.get(chainId);
      return row === undefined ? undefined : parseOpenStep(readText(row, 'step'));
    },
  };
}
