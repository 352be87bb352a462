import { exposureCounter } from '../../core/usage/counter-names.js';
import type { Reservation } from '../../core/usage/usage-store.js';
import type { AddressKey } from '../../core/units/address.js';
import { gweiCeil } from '../../core/units/wei.js';
import type { Candidate } from './attribution.js';
import { operationId, type MinedOperation } from './mined.js';

/** An operation that was mined in mode ERC20 and paid no token, as far as is known. */
export type Loss = {
  readonly operation: MinedOperation;
  /** Gwei that count as lost. */
  readonly lost: number;
  /** Whether its account is barred. */
  readonly bars: boolean;
};

/**
 * The loss of an operation that may have come from these promises. One that may also have been sponsored counts for at most what the
 * token promises hold of the budget, and bars nobody. Neither does one for which nothing was held: a payment in validation.
 */
export function lossOf(
  operation: MinedOperation,
  found: readonly Candidate[],
  tokenPaid: boolean | undefined,
): Loss | undefined {
  const inTokens = found.filter(({ mode }) => mode === 'ERC20');
  if (tokenPaid !== false || inTokens.length === 0) return undefined;
  const held = Math.max(...inTokens.map(({ reservation }) => exposureOf(reservation, operation.paymaster)));
  const isCertain = inTokens.length === found.length;
  const cost = gweiCeil(operation.actualGasCost);
  const lost = isCertain ? cost : Math.min(cost, held);
  return lost === 0 ? undefined : { operation, lost, bars: isCertain && held > 0 };
}

/** Each operation once, although several reservations may have promised it. */
export function eachOnce(losses: readonly Loss[]): readonly Loss[] {
  return [...new Map(losses.map((loss) => [operationId(loss.operation), loss])).values()];
}

/** What a reservation holds of the budget of a contract's token losses, in gwei. */
function exposureOf({ holds }: Reservation, contract: AddressKey): number {
  const name = exposureCounter(contract, 'all');
  return holds.find(({ counter }) => counter === name)?.cost ?? 0;
}
