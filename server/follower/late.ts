import type { Reservation } from '../../core/usage/usage-store.js';
import { attributeExactly, candidatesOf, type Candidate, type Evidence } from './attribution.js';
import { byOperation, operationId, type MinedOperation } from './mined.js';
import { costToLimits, type Settled } from './settlement.js';

/** What operations mean that were found by their senders, after the time of the reservations was over, or by a rescan. */
export type LateSettlement = {
  readonly settled: readonly Settled[];
  readonly released: readonly Reservation[];
  readonly forfeited: readonly Reservation[];
  readonly losses: readonly MinedOperation[];
};

export const nothingLate: LateSettlement = { settled: [], released: [], forfeited: [], losses: [] };

/**
 * Such an operation may have been settled when it was mined, and its nonce promised once more since: anybody can ask for that. So
 * only its digest proves that it is what a reservation has promised. Without that proof a reservation that may have promised it is
 * forfeited, which counts no loss, and any other released: also one of a neighbour, where the digest is that of somebody else's
 * promise. `promised`: every reservation of these operations, also those whose time is not over. `isCounted`: known to be settled already.
 */
export function settleLate(
  found: readonly MinedOperation[],
  spent: readonly Reservation[],
  promised: readonly Reservation[],
  evidenceOf: (operation: MinedOperation) => Evidence,
  isCounted: (operation: MinedOperation) => boolean,
): LateSettlement {
  const over = byOperation(spent);
  const all = byOperation(promised);
  const parts = found.flatMap((operation) => {
    const id = operationId(operation);
    const evidence = evidenceOf(operation);
    const isProven = proves(operation, all.get(id) ?? [], evidence);
    return (over.get(id) ?? []).map((reservation) => {
      const candidates = isCounted(operation) ? [] : candidatesOf(operation, [reservation]);
      return settleOne(operation, reservation, { candidates, isProven, ...evidence });
    });
  });
  return joined(...parts);
}

export function joined(...parts: readonly LateSettlement[]): LateSettlement {
  return {
    settled: parts.flatMap(({ settled }) => settled),
    released: parts.flatMap(({ released }) => released),
    forfeited: parts.flatMap(({ forfeited }) => forfeited),
    losses: [...new Set(parts.flatMap(({ losses }) => losses))],
  };
}

/** Whether the operation carries the digest of one of these promises: then it carries no other. */
function proves(
  operation: MinedOperation,
  reservations: readonly Reservation[],
  { bytes }: Evidence,
): boolean {
  return attributeExactly(operation, candidatesOf(operation, reservations), bytes).exact.length > 0;
}

function settleOne(
  operation: MinedOperation,
  reservation: Reservation,
  {
    candidates,
    isProven,
    bytes,
    tokenPaid,
  }: Evidence & { readonly candidates: readonly Candidate[]; readonly isProven: boolean },
): LateSettlement {
  const { exact, possible } = attributeExactly(operation, candidates, bytes);
  if (exact.length > 0) {
    const isLoss = tokenPaid === false && exact.some(({ mode }) => mode === 'ERC20');
    const actualCost = costToLimits(operation, exact);
    const settled = [{ reservation, operation, actualCost }];
    return { ...nothingLate, settled, losses: isLoss ? [operation] : [] };
  }
  return possible.length > 0 && !isProven
    ? { ...nothingLate, forfeited: [reservation] }
    : { ...nothingLate, released: [reservation] };
}
