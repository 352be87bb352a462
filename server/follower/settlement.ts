import type { FollowerStep } from '../../core/usage/follower-step.js';
import type { Reservation } from '../../core/usage/reservation.js';
import type { TokenCharge } from '../../core/paymaster/layout.js';
import type { AddressKey } from '../../core/units/address.js';
import type { Hex } from '../../core/units/hex.js';
import { gweiCeil, type Gwei } from '../../core/units/wei.js';
import { attribute, candidatesOf, type Bytes, type Candidate, type Evidence } from './attribution.js';
import { byOperation, operationId, type MinedOperation } from './mined.js';
import { lossOf, type Loss } from './unpaid.js';

export type Settled = {
  readonly reservation: Reservation;
  readonly operation: MinedOperation;
  /** Undefined for a token payment, which no limit of the reservation pays for. */
  readonly actualCost: Gwei | undefined;
  /** Digest of the promise that was mined; undefined if it may have been one of several. */
  readonly digest: Hex | undefined;
  /** What the account paid in tokens, as far as events show it. */
  readonly charge: TokenCharge | undefined;
};

/** The effect of mined operations on reservations. */
export type Settlement = {
  readonly settled: readonly Settled[];
  /** Another operation has used the nonce of these reservations, so their own operations can never be mined. */
  readonly released: readonly Reservation[];
  readonly losses: readonly Loss[];
  /** Settled for more than one reservation, because it is not known which of them promised the operation. */
  readonly ambiguous: readonly MinedOperation[];
  /** Operations that one of our contracts paid for and nobody here has promised. */
  readonly unattributed: readonly Unattributed[];
};

export type Unattributed = { readonly operation: MinedOperation; readonly bytes: Bytes };

/**
 * Each operation settles the reservations that it may have come from, see {@link attribute}. If there are several, all of them
 * settle, each to at most what it reserved: the next window corrects a count that is too high, but never one that is too low. If the
 * operation may have been a token payment and did not pay, it is a loss: see {@link lossOf}. An operation that a stranger's contract
 * or nobody paid for only uses up the nonce.
 */
export function settle(
  mined: readonly MinedOperation[],
  reservations: readonly Reservation[],
  evidenceOf: (operation: MinedOperation) => Evidence,
  isOurs: (contract: AddressKey) => boolean,
): Settlement {
  const promised = byOperation(reservations);
  const seen = new Set<string>();
  const parts = mined.flatMap((operation) => {
    const id = operationId(operation);
    // A second event of the same operation can only be a node's mistake; it must not count twice.
    if (seen.has(id)) return [];
    seen.add(id);
    const of = promised.get(id) ?? [];
    return [settleOne(operation, of, evidenceOf(operation), isOurs(operation.paymaster))];
  });
  return {
    settled: parts.flatMap(({ settled }) => settled),
    released: parts.flatMap(({ released }) => released),
    losses: parts.flatMap(({ losses }) => losses),
    ambiguous: parts.flatMap(({ ambiguous }) => ambiguous),
    unattributed: parts.flatMap(({ unattributed }) => unattributed),
  };
}

function settleOne(
  operation: MinedOperation,
  reservations: readonly Reservation[],
  evidence: Evidence,
  isOurs: boolean,
): Settlement {
  const found = attribute(operation, candidatesOf(operation, reservations), evidence);
  const byReservation = Map.groupBy(found, ({ reservation }) => reservation);
  const loss = lossOf(operation, found, evidence);
  const isStrange = isOurs && found.length === 0 && evidence.bytes.outcome !== 'unsigned';
  return {
    settled: [...byReservation].map(([reservation, candidates]) => ({
      reservation,
      operation,
      actualCost: costToLimits(operation, candidates),
      digest: soleDigest(candidates),
      charge: evidence.charge,
    })),
    released: reservations.filter((reservation) => !byReservation.has(reservation)),
    losses: loss === undefined ? [] : [loss],
    ambiguous: byReservation.size > 1 ? [operation] : [],
    unattributed: isStrange ? [{ operation, bytes: evidence.bytes }] : [],
  };
}

export function costToLimits(operation: MinedOperation, candidates: readonly Candidate[]): Gwei | undefined {
  const isSponsored = candidates.some(({ mode }) => mode === 'SPONSORED');
  return isSponsored ? gweiCeil(operation.actualGasCost) : undefined;
}

export function soleDigest([first, ...others]: readonly Candidate[]): Hex | undefined {
  return others.every(({ digest }) => digest === first?.digest) ? first?.digest : undefined;
}

export function settledInStep(settled: readonly Settled[]): FollowerStep['settled'] {
  return settled.map(({ reservation, actualCost }) => ({ key: reservation.key, actualCost }));
}
