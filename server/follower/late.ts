import type { Reservation } from '../../core/usage/usage-store.js';
import { attributeExactly, candidatesOf, type Candidate, type Evidence } from './attribution.js';
import { byOperation, operationId, type MinedOperation } from './mined.js';
import { costToLimits, type Settled } from './settlement.js';

/** What operations mean that were found by their senders, after the time of the reservations was over. */
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
 * forfeited, which counts no loss, and any other released. `isCounted`: known to be settled already.
 */
export function settleLate(
  found: readonly MinedOperation[],
  spent: readonly Reservation[],
  evidenceOf: (operation: MinedOperation) => Evidence,
  isCounted: (operation: MinedOperation) => boolean,
): LateSettlement {
  const promised = byOperation(spent);
  const parts = found.flatMap((operation) =>
    (promised.get(operationId(operation)) ?? []).map((reservation) => {
      const candidates = isCounted(operation) ? [] : candidatesOf(operation, [reservation]);
      return settleOne(operation, reservation, candidates, evidenceOf(operation));
    }),
  );
  const losses = new Set(parts.flatMap((part) => part.losses));
  return {
    settled: parts.flatMap(({ settled }) => settled),
    released: parts.flatMap(({ released }) => released),
    forfeited: parts.flatMap(({ forfeited }) => forfeited),
    losses: [...losses],
  };
}

function settleOne(
  operation: MinedOperation,
  reservation: Reservation,
  candidates: readonly Candidate[],
  { bytes, tokenPaid }: Evidence,
): LateSettlement {
  const { exact, possible } = attributeExactly(operation, candidates, bytes);
  if (exact.length > 0) {
    const isLoss = tokenPaid === false && exact.some(({ mode }) => mode === 'ERC20');
    const actualCost = costToLimits(operation, exact);
    const settled = [{ reservation, operation, actualCost }];
    return { ...nothingLate, settled, losses: isLoss ? [operation] : [] };
  }
  return possible.length > 0
    ? { ...nothingLate, forfeited: [reservation] }
    : { ...nothingLate, released: [reservation] };
}
