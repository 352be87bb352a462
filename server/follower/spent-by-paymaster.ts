import type { Reservation } from '../../core/usage/reservation.js';
import { gweiCeil } from '../../core/units/wei.js';
import { operationId, reservationId } from './mined.js';
import type { Settled } from './settlement.js';

/**
 * Actual gas cost in gwei of what a step has settled, by paymasterId. An operation that settles several reservations counts for the
 * first of them, as in the ledger.
 */
export function spentByPaymaster(
  settled: readonly Pick<Settled, 'reservation' | 'operation'>[],
  ended: readonly Reservation[],
): ReadonlyMap<string, number> {
  const taken = new Set(ended.map(({ key }) => reservationId(key)));
  const counted = new Set<string>();
  const spent = new Map<string, number>();
  for (const { reservation, operation } of settled) {
    const name = operationId(operation);
    if (counted.has(name) || !taken.has(reservationId(reservation.key))) continue;
    counted.add(name);
    const { paymasterId } = reservation.key;
    spent.set(paymasterId, (spent.get(paymasterId) ?? 0) + gweiCeil(operation.actualGasCost));
  }
  return spent;
}
