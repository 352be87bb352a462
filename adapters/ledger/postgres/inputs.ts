import type { InputsQuery } from '../../../core/ledger/ledger.js';
import type { DecisionInputs } from '../../../core/ledger/record.js';
import { lowestRecordId } from '../../../core/ledger/record-id.js';
import type { Row, Session } from '../../postgres/transactions.js';
import { dayOf, inputsOf } from './record-rows.js';

/** Inputs are some kilobytes each. */
const pageSize = 500;

/** One page, after the last row of the page before, in the order in which operations were decided, chain by chain. */
export async function readInputs(
  session: Session,
  { organisation, paymasterIds, from, to }: InputsQuery,
  after: DecisionInputs | undefined,
): Promise<readonly DecisionInputs[]> {
  const [first, end] = [lowestRecordId(from), lowestRecordId(to)];
  const rows: readonly Row[] = await session.query(
    `SELECT * FROM ledger.inputs
     WHERE organisation = $1 AND paymaster_id = ANY($2::text[])
     AND id >= $3 AND id < $4 AND day BETWEEN $5 AND $6 AND (chain_id, sequence, id) > ($7, $8, $9)
     ORDER BY chain_id, sequence, id LIMIT ${pageSize}`,
    [
      organisation,
      [...paymasterIds],
      first,
      end,
      dayOf({ id: first }),
      dayOf({ id: end }),
      after?.chainId ?? -1,
      after?.sequence ?? -1,
      after?.id ?? '00000000-0000-0000-0000-000000000000',
    ],
  );
  return rows.map(inputsOf);
}
