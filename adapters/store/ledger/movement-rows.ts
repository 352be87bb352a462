import type { LedgerEntry } from '../../../core/ledger/ledger.js';
import type { Movements } from '../../../core/ledger/record.js';
import { columns, coveredColumns, namesOf, type RowOf } from './columns.js';
import type { Dialect } from './dialect.js';
import { dayOf, storableTime } from './record-rows.js';
import { storable } from './text.js';

/** A change of the tables of movements: its text, and values that both databases take. */
type MovementWrite = {
  readonly name: string;
  readonly text: string;
  readonly values: readonly (string | number)[];
};

/**
 * What a step of the follower writes. Blocks that are read again replace what was recorded of them, and a range of blocks grows where
 * it ended, so that a transaction whose commit is in doubt may be made again.
 */
function movementWrites(dialect: Dialect, record: Movements): readonly MovementWrite[] {
  const { chainId, after, movements, covered } = record;
  const { table } = dialect;
  const writes: MovementWrite[] = [];
  if (after !== undefined) {
    const values = [chainId, after];
    writes.push(
      {
        name: 'remove-movements',
        text: `DELETE FROM ${table('movement')} WHERE chain_id = $1 AND block_number > $2`,
        values,
      },
      {
        name: 'remove-covered',
        text: `DELETE FROM ${table('covered')} WHERE chain_id = $1 AND from_block > $2`,
        values,
      },
      {
        name: 'cut-covered',
        text: `UPDATE ${table('covered')} SET to_block = $2 WHERE chain_id = $1 AND to_block > $2`,
        values,
      },
    );
  }
  if (movements.length > 0)
    writes.push({
      name: 'add-movements',
      text: insertMovements(dialect),
      values: [JSON.stringify(movements.map((movement) => movementRow(record, movement)))],
    });
  if (covered.length > 0) {
    const values = [
      JSON.stringify(
        covered.map(({ contract, fromBlock, toBlock }) => ({
          chain_id: chainId,
          contract,
          from_block: fromBlock,
          to_block: toBlock,
          day: dayOf(record.id),
        })),
      ),
    ];
    const rows = dialect.rows('$1', 'added', { ...coveredColumns, day: columns.movement.day });
    const isStored = dialect.hasPart('movement', 'month', 'added.day');
    const same = 'old.chain_id = added.chain_id AND old.contract = added.contract';
    writes.push(
      {
        name: 'grow-covered',
        text: `UPDATE ${table('covered')} AS old SET to_block = added.to_block
          FROM ${rows} WHERE ${same} AND old.to_block = added.from_block - 1 AND ${isStored}`,
        values,
      },
      {
        name: 'add-covered',
        text: `INSERT INTO ${table('covered')} (${Object.keys(coveredColumns).join(', ')})
          SELECT ${Object.keys(coveredColumns).join(', ')} FROM ${rows}
          WHERE ${isStored} AND NOT EXISTS (SELECT 1 FROM ${table('covered')} AS old
            WHERE ${same} AND old.from_block <= added.from_block AND old.to_block >= added.to_block)
          ON CONFLICT DO NOTHING`,
        values,
      },
    );
  }
  return writes;
}

/** Of entries that are movements. */
export function movementWritesOf(
  dialect: Dialect,
  entries: readonly LedgerEntry[],
): readonly MovementWrite[] {
  return entries.flatMap(({ record }) =>
    record.kind === 'movements' ? movementWrites(dialect, record) : [],
  );
}

function insertMovements(dialect: Dialect): string {
  const names = namesOf('movement').join(', ');
  return `INSERT INTO ${dialect.table('movement')} (${names}) SELECT ${names}
    FROM ${dialect.rows('$1', 'added', columns.movement)}
    WHERE ${dialect.hasPart('movement', 'month', 'day')} ON CONFLICT DO NOTHING`;
}

function movementRow(
  { id, chainId }: Movements,
  movement: Movements['movements'][number],
): RowOf<'movement'> {
  return {
    // Of the record: the time of a block is what a node says, and a part of the table must be there.
    day: dayOf(id),
    at: storableTime(movement.at),
    chain_id: chainId,
    contract: movement.contract,
    funding_address: movement.fundingAddress ?? '',
    kind: movement.kind,
    block_number: movement.blockNumber,
    log_index: movement.logIndex,
    organisation: storable(movement.organisation),
    paymaster_id: storable(movement.paymasterId),
    amount_wei: movement.amountWei?.toString() ?? null,
    count: movement.count,
    transaction_hash: movement.transactionHash ?? null,
  };
}
