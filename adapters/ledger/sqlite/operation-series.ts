import { unreachable } from '../../../core/errors.js';
import { noValue, whole, type Operation, type Share } from '../../../core/ledger/shares.js';
import type { UsageGroup } from '../../../core/ledger/query.js';

/**
 * Each operation counts in one sum for its paymaster, chain, mode and reason together: a paymaster has few of these,
 * and separate sums would be four rows to write for each minute, hour and day.
 */
export function operationShares({ chainId, mode, reason }: Operation): readonly Share[] {
  return [whole('operation', [chainId, mode ?? noValue, reason ?? noValue].join(separator))];
}

const separator = '\t';

/** The dimension whose series answer a group, and the group's value in one of them. */
export function seriesOfGroup(groupBy: UsageGroup | undefined): {
  readonly dimension: 'operation' | 'policy' | 'contract' | 'method';
  valueOf(paymasterId: string, value: string): string | undefined;
} {
  switch (groupBy) {
    case 'policy':
    case 'contract':
    case 'method':
      return { dimension: groupBy, valueOf: (_, value) => value };
    case 'paymaster':
      return { dimension: 'operation', valueOf: (paymasterId) => paymasterId };
    case 'chain':
      return { dimension: 'operation', valueOf: part(0) };
    case 'mode':
      return { dimension: 'operation', valueOf: part(1) };
    case 'reason':
      return { dimension: 'operation', valueOf: part(2) };
    case 'sender':
    case undefined:
      return { dimension: 'operation', valueOf: () => undefined };
    default:
      return unreachable(groupBy);
  }
}

function part(index: number) {
  return (_: string, value: string): string => value.split(separator)[index] ?? noValue;
}
