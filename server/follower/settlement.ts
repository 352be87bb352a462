import type { UserOperationEvent } from '../../core/paymaster/entry-point.js';
import type { Reservation } from '../../core/policy/usage-store.js';
import type { AddressKey } from '../../core/units/address.js';
import type { Hex } from '../../core/units/hex.js';

/** A `UserOperationEvent` and where it was found. */
export type MinedOperation = UserOperationEvent & {
  readonly entryPoint: AddressKey;
  readonly blockNumber: number;
  readonly transactionHash: Hex;
  readonly logIndex: number;
};

export type Settlement = {
  readonly settled: readonly { readonly reservation: Reservation; readonly operation: MinedOperation }[];
  readonly released: readonly Reservation[];
  /** Operations of which it is not known who paid: all that match are settled. */
  readonly ambiguous: readonly MinedOperation[];
};

/** Funding wallet that the contract's own event names as the payer of an operation; undefined where it is not known. */
export type Payer = (operation: MinedOperation) => AddressKey | undefined;

/** Whether the contract's own events say that an operation was charged in tokens; undefined where it is not known. */
export type TokenPaid = (operation: MinedOperation) => boolean | undefined;

/**
 * What the mined operations mean for the live reservations.
 *
 * An operation is matched by EntryPoint, sender, nonce and contract: its userOpHash can be changed by padding, so a
 * different hash proves nothing. Where several paymasters of one contract have promised the same operation, a hash that
 * is known or the contract's own event tells which one paid; if neither does, all are settled, because too much
 * counted is repaired by the next cycle and too little never. Where it was promised in both modes, one that was charged in
 * tokens was the token payment, and any other the sponsorship, unless hash or event say that it was a token payment which
 * paid nothing. The nonce is used up, so every reservation of the operation that is not settled is released.
 */
export function settle(
  mined: readonly MinedOperation[],
  reservations: readonly Reservation[],
  payerOf: Payer,
  tokenPaid: TokenPaid = () => undefined,
): Settlement {
  const promised = Map.groupBy(reservations, ({ key }) => operationId(key));
  const settled: { reservation: Reservation; operation: MinedOperation }[] = [];
  const released: Reservation[] = [];
  const ambiguous: MinedOperation[] = [];
  for (const operation of mined) {
    const candidates = promised.get(operationId(operation)) ?? [];
    const paid = payers(operation, candidates, payerOf, tokenPaid);
    if (paid.length > 1) ambiguous.push(operation);
    for (const reservation of candidates)
      if (paid.includes(reservation)) settled.push({ reservation, operation });
      else released.push(reservation);
    // A second event of the same operation can only come from a node's mistake; it must not count twice.
    promised.delete(operationId(operation));
  }
  return { settled, released, ambiguous };
}

/** Operations that more than one reservation could have paid: for these the contract's own event is worth reading. */
export function contested(
  mined: readonly MinedOperation[],
  reservations: readonly Reservation[],
): readonly MinedOperation[] {
  const promised = Map.groupBy(reservations, ({ key }) => operationId(key));
  return mined.filter(
    (operation) => possible(operation, promised.get(operationId(operation)) ?? []).length > 1,
  );
}

/** Operations that were promised in mode ERC20: whether they paid is worth reading. */
export function promisedInTokens(
  mined: readonly MinedOperation[],
  reservations: readonly Reservation[],
): readonly MinedOperation[] {
  const promised = reservations.filter(({ mode }) => mode === 'ERC20').map(({ key }) => operationId(key));
  const ids = new Set(promised);
  return mined.filter((operation) => ids.has(operationId(operation)));
}

/**
 * What a settled operation adds to the counters of its reservation, in wei. A token payment has no limits but the losses that
 * it may cause, and those are nothing where it paid, or where that is not known.
 */
export function chargeToLimits(
  { mode }: Reservation,
  operation: MinedOperation,
  tokenPaid: TokenPaid,
): bigint {
  return mode === 'SPONSORED' || tokenPaid(operation) === false ? operation.actualGasCost : 0n;
}

/** Those whose last moment has passed and of which no operation was mined. */
export function expired(
  reservations: readonly Reservation[],
  mined: readonly MinedOperation[],
  scannedTime: number,
): readonly Reservation[] {
  const found = new Set(mined.map(operationId));
  return reservations.filter(
    ({ key, validUntil }) => validUntil < scannedTime && !found.has(operationId(key)),
  );
}

/** Names an operation of a chain: only one with this EntryPoint, sender and nonce can ever be mined. */
export function operationId(operation: {
  readonly entryPoint: AddressKey;
  readonly sender: AddressKey;
  readonly nonce: bigint;
}): string {
  return `${operation.entryPoint}/${operation.sender}/${operation.nonce}`;
}

function payers(
  operation: MinedOperation,
  candidates: readonly Reservation[],
  payerOf: Payer,
  tokenPaid: TokenPaid,
): readonly Reservation[] {
  const able = possible(operation, candidates);
  if (able.length < 2) return able;
  const inMode = tokenPaid(operation) === true ? preferMode(able, 'ERC20') : able;
  const payer = payerOf(operation);
  const byPayer = payer === undefined ? [] : inMode.filter((reservation) => mayCharge(reservation, payer));
  return preferMode(byPayer.length > 0 ? byPayer : inMode, 'SPONSORED');
}

/** Those that may have paid: the one of which the operation has the hash, else all that draw on its contract. */
function possible(operation: MinedOperation, candidates: readonly Reservation[]): readonly Reservation[] {
  const drawing = candidates.filter((reservation) => drawsOn(reservation, operation.paymaster));
  const byHash = drawing.filter(({ userOpHash }) => userOpHash === operation.userOpHash);
  return byHash.length > 0 ? byHash : drawing;
}

function preferMode(
  reservations: readonly Reservation[],
  preferred: Reservation['mode'],
): readonly Reservation[] {
  const ofMode = reservations.filter(({ mode }) => mode === preferred);
  return ofMode.length > 0 ? ofMode : reservations;
}

/** Also by the accounts: an operation that was promised again on another contract may be mined with either. */
function drawsOn(reservation: Reservation, contract: AddressKey): boolean {
  return (
    reservation.contract === contract || reservation.accounts.some((share) => share.contract === contract)
  );
}

function mayCharge(reservation: Reservation, payer: AddressKey): boolean {
  return (
    reservation.fundingAddress === payer ||
    reservation.accounts.some((share) => share.fundingAddress === payer)
  );
}
