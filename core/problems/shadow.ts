import { contractsInShadow } from '../policy/shadow.js';
import type { UsageRow } from '../ledger/query.js';
import { problem, type Problem } from './problems.js';

/** Fewer say little. */
const fewest = 10;
/** One of so many is much. */
const oneOf = 10;

/**
 * What a paymaster's policies in Shadow would have refused. `rows`: usage by `wouldRefuse`; `sponsored`: of all operations of the
 * same time; `names`: what its policies are called, by policyId.
 */
export function shadowProblems(
  of: Pick<Problem, 'namespace' | 'name' | 'displayName'>,
  rows: readonly Pick<UsageRow, 'group' | 'sponsored'>[],
  sponsored: number,
  names: ReadonlyMap<string, string>,
): readonly Problem[] {
  const counts = new Map<string, number>();
  for (const { group = '', sponsored: count } of rows) counts.set(group, (counts.get(group) ?? 0) + count);
  return [...counts]
    .filter(([, count]) => count >= fewest && count * oneOf >= sponsored)
    .map(([id, count]) => {
      const who = id === contractsInShadow ? 'The list of contracts' : `"${names.get(id) ?? id}"`;
      const message = `${who} would have refused ${count} of the ${sponsored} operations that were sponsored in the last 24 hours.`;
      return problem('shadow-refuses-much', { kind: 'Paymaster', ...of }, message);
    });
}
