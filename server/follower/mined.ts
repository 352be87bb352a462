import type { UserOperationEvent } from '../../core/entry-point/user-operation-event.js';
import type { OperationId, ReservationKey } from '../../core/usage/reservation.js';
import type { AddressKey } from '../../core/units/address.js';
import type { Hex } from '../../core/units/hex.js';

/** A `UserOperationEvent` and where it was found. */
export type MinedOperation = UserOperationEvent & {
  readonly entryPoint: AddressKey;
  readonly blockNumber: number;
  readonly blockHash: Hex;
  readonly transactionHash: Hex;
  readonly logIndex: number;
};

/** Names an operation of a chain: only one with this EntryPoint, sender and nonce can ever be mined. */
export function operationId({ entryPoint, sender, nonce }: OperationId): string {
  return `${entryPoint}/${sender}/${nonce}`;
}

/** Names a reservation of a chain. */
export function reservationId(key: ReservationKey): string {
  return `${operationId(key)}/${key.paymasterId}`;
}

export function byOperation<T extends { readonly key: OperationId }>(
  reservations: readonly T[],
): ReadonlyMap<string, readonly T[]> {
  return Map.groupBy(reservations, ({ key }) => operationId(key));
}
