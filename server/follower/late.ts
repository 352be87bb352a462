import type { Reservation } from '../../core/usage/reservation.js';
import { attributeExactly, candidatesOf, type Candidate, type Evidence } from './attribution.js';
import { byOperation, operationId, type MinedOperation } from './mined.js';
import { costToLimits, soleDigest, type Settled } from './settlement.js';
import { eachOnce, lossOf, type Loss } from './unpaid.js';

/** The effect of operations that were found late: by their senders, after the reservations had expired, or by a rescan. */
export type LateSettlement = {
  readonly settled: readonly Settled[];
  readonly released: readonly Reservation[];
  readonly forfeited: readonly Reservation[];
  readonly losses: readonly Loss[];
};

export const nothingLate: LateSettlement = { settled: [], released: [], forfeited: [], losses: [] };

/**
 * Decides how late operations end reservations. Such an operation may have been settled when it was mined, and its nonce may have
 * been promised again since, because anybody can ask for that. So only the digest proves that an operation is the one that a
 * reservation has promised; then the reservation settles. Without this proof a reservation that may have promised the operation is
 * forfeited, which counts no loss, and any other reservation is released. A reservation is also released when the digest proves
 * another reservation's promise. `promised`: every reservation for these operations, including those that have not expired.
 * `isCounted`: whether the operation is known to be settled already.
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
    losses: eachOnce(parts.flatMap(({ losses }) => losses)),
  };
}

/** Whether the operation carries the digest of one of these promises; then it cannot carry another one. */
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
  found: Evidence & { readonly candidates: readonly Candidate[]; readonly isProven: boolean },
): LateSettlement {
  const { candidates, isProven, bytes, charge } = found;
  const { exact, possible } = attributeExactly(operation, candidates, bytes);
  if (exact.length > 0) {
    const loss = lossOf(operation, exact, found);
    const actualCost = costToLimits(operation, exact);
    const settled = [{ reservation, operation, actualCost, digest: soleDigest(exact), charge }];
    return { ...nothingLate, settled, losses: loss === undefined ? [] : [loss] };
  }
  return possible.length > 0 && !isProven
    ? { ...nothingLate, forfeited: [reservation] }
    : { ...nothingLate, released: [reservation] };
}
