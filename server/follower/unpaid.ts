import { exposureCounter } from '../../core/usage/counter-names.js';
import type { AddressKey } from '../../core/units/address.js';
import { gweiCeil, divideUp } from '../../core/units/wei.js';
import type { Candidate, Evidence } from './attribution.js';
import { operationId, type MinedOperation } from './mined.js';

/** An operation that was mined in mode ERC20 and did not pay in full, as far as is known. */
export type Loss = {
  readonly operation: MinedOperation;
  /** Gwei that count as lost. */
  readonly lost: number;
  /** Whether its account is barred. */
  readonly bars: boolean;
};

/**
 * The loss of an operation that may have come from these promises: what the chain took, or the part of it that the account left
 * unpaid. One that may also have been sponsored counts for at most what the token promises hold of the budget, and bars nobody.
 */
export function lossOf(
  operation: MinedOperation,
  found: readonly Candidate[],
  evidence: Pick<Evidence, 'tokenPaid' | 'owed' | 'taken'>,
): Loss | undefined {
  const inTokens = found.filter(({ mode }) => mode === 'ERC20');
  const { tokenPaid, owed } = evidence;
  if (inTokens.length === 0 || (owed === undefined && tokenPaid !== false)) return undefined;
  // No event says so, but an operation that demands payment in validation is mined only after it has paid.
  const { paymaster: contract } = operation;
  if (owed === undefined && inTokens.every((candidate) => isInAdvance(candidate, contract))) return undefined;
  const held = Math.max(...inTokens.map((candidate) => exposureOf(candidate, contract)));
  const isCertain = inTokens.length === found.length;
  const cost = costOf(operation, inTokens, evidence);
  const lost = isCertain ? cost : Math.min(cost, held);
  return lost === 0 ? undefined : { operation, lost, bars: isCertain && held > 0 };
}

/**
 * Gwei, rounded up. A contract with balances says what it took from the balance that pays. If it says nothing its postOp has failed, and
 * it keeps all that validation took: what the promises hold.
 */
function costOf(
  { actualGasCost, paymaster: contract }: MinedOperation,
  inTokens: readonly Candidate[],
  { owed, taken }: Pick<Evidence, 'owed' | 'taken'>,
): number {
  const known = taken === undefined || taken < actualGasCost ? actualGasCost : taken;
  if (owed !== undefined && owed.due > 0n) return gweiCeil(divideUp(known * owed.owed, owed.due));
  const keepers =
    taken === undefined ? inTokens.filter((candidate) => drawsOnBalance(candidate, contract)) : [];
  return Math.max(gweiCeil(known), ...keepers.map((candidate) => exposureOf(candidate, contract)));
}

/** Each operation once, although several reservations may have promised it. */
export function eachOnce(losses: readonly Loss[]): readonly Loss[] {
  return [...new Map(losses.map((loss) => [operationId(loss.operation), loss])).values()];
}

/** A payment after the call holds at least the EntryPoint's prefund. */
function isInAdvance(candidate: Candidate, contract: AddressKey): boolean {
  return exposureOf(candidate, contract) < gweiCeil(candidate.prefundWei);
}

function drawsOnBalance({ reservation: { accounts } }: Candidate, contract: AddressKey): boolean {
  return accounts.some((account) => account.contract === contract && account.fundingAddress !== undefined);
}

/** What the reservation of a promise holds of the budget of a contract's token losses, in gwei. */
function exposureOf({ reservation: { holds } }: Candidate, contract: AddressKey): number {
  const name = exposureCounter(contract, 'all');
  return holds.find(({ counter }) => counter === name)?.cost ?? 0;
}
