import type { InputsQuery } from '../../../core/ledger/ledger.js';
import type { DecisionInputs } from '../../../core/ledger/record.js';
import { inputsOfBlock } from './input-blocks.js';
import type { Reader } from './reader.js';
import { dayOfTime } from './record-rows.js';

/** A block of inputs, unpacked. */
export type InputBlock = {
  readonly chainId: number;
  readonly firstSequence: number;
  readonly number: number;
  readonly inputs: readonly DecisionInputs[];
};

/** A block may have a megabyte. */
const blocksPerPage = 20;

/** The blocks after another one, by chain and first place. */
export async function readBlocks(
  { dialect, query }: Reader,
  { organisation, paymasterIds, from, to }: InputsQuery,
  after: Omit<InputBlock, 'inputs'> | undefined,
): Promise<readonly InputBlock[]> {
  const { chainId, firstSequence, number } = after ?? { chainId: -1, firstSequence: -1, number: -1 };
  const rows = await query(
    `SELECT number, organisation, chain_id, first_sequence, body FROM ${dialect.table('inputs')}
     WHERE organisation = $1 AND day >= $2 AND day <= $3 AND last_at >= $4 AND first_at < $5
     AND (chain_id, first_sequence, number) > ($6, $7, $8)
     ORDER BY chain_id, first_sequence, number LIMIT ${blocksPerPage}`,
    // An id may have been made on another day than what it says happened.
    [organisation, dayOfTime(from) - 1, dayOfTime(to) + 1, from, to, chainId, firstSequence, number],
  );
  const isWanted = ({ paymasterId, at }: DecisionInputs): boolean =>
    paymasterIds.includes(paymasterId) && at >= from && at < to;
  return rows.map((row) => ({
    chainId: Number(row['chain_id']),
    firstSequence: Number(row['first_sequence']),
    number: Number(row['number']),
    inputs: inputsOfBlock(row).filter(isWanted),
  }));
}

/**
 * Inputs in the order in which they were decided, chain by chain. Blocks are ordered by their first place and overlap: what is before
 * the next block's first place is complete. What was written twice is answered once.
 */
export async function* orderedInputs(
  read: (after: InputBlock | undefined) => Promise<readonly InputBlock[]>,
): AsyncGenerator<readonly DecisionInputs[]> {
  let open: DecisionInputs[] = [];
  let last: DecisionInputs | undefined;
  const close = (isComplete: (one: DecisionInputs) => boolean): readonly DecisionInputs[] => {
    const complete = open.filter(isComplete).toSorted(byPlace);
    open = open.filter((one) => !isComplete(one));
    const page = complete.filter((one, i) => one.id !== (complete[i - 1] ?? last)?.id);
    last = complete.at(-1) ?? last;
    return page;
  };
  let after: InputBlock | undefined;
  for (;;) {
    const blocks = await read(after);
    if (blocks.length === 0) break;
    after = blocks.at(-1)!;
    const { chainId, firstSequence } = after;
    for (const { inputs } of blocks) open.push(...inputs);
    const page = close(
      (one) => one.chainId < chainId || (one.chainId === chainId && one.sequence < firstSequence),
    );
    if (page.length > 0) yield page;
  }
  const rest = close(() => true);
  if (rest.length > 0) yield rest;
}

function byPlace(a: DecisionInputs, b: DecisionInputs): number {
  return a.chainId - b.chainId || a.sequence - b.sequence || (a.id < b.id ? -1 : 1);
}
