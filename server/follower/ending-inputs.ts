import type { StepResult } from '../../core/usage/follower-step.js';
import type { Reservation } from '../../core/usage/reservation.js';
import type { Ending } from '../ledger/inputs-records.js';
import type { Ended } from './undo.js';
import { reservationId } from './mined.js';
import type { FollowerLedger } from './records.js';
import type { Settled } from './settlement.js';

type Taken = Extract<StepResult, { readonly isTaken: true }>;

/**
 * Records how a step has ended reservations, for replays: with the place that each ending has among the decisions. A
 * reservation whose decisions were not recorded is left out. They are recorded after the step, so they miss where the process was
 * killed in between.
 */
export function recordEndings(
  ledger: FollowerLedger,
  { orders }: Pick<Taken, 'orders'>,
  ended: readonly Ended[],
  settled: readonly Pick<Settled, 'reservation' | 'actualCost'>[],
): void {
  if (orders === undefined || ledger.ending === undefined) return;
  // The first settlement of a reservation decides.
  const costs = new Map(
    settled.toReversed().map(({ reservation, actualCost }) => [reservationId(reservation.key), actualCost]),
  );
  for (const [i, { reservation, how }] of ended.entries()) {
    const actualCost = how === 'settled' ? costs.get(reservationId(reservation.key)) : undefined;
    add(ledger, reservation, { order: orders.ended[i], how, actualCost });
  }
}

/** A reorganisation has taken their endings back. */
export function recordRestored(
  ledger: FollowerLedger,
  { orders }: Pick<Taken, 'orders'>,
  restored: readonly Reservation[],
): void {
  for (const reservation of restored) add(ledger, reservation, { order: orders?.restored, how: 'restored' });
}

function add(
  { ids, ending, organisationOf }: FollowerLedger,
  { key, recordId }: Reservation,
  { order, how, actualCost }: Pick<Ending, 'how' | 'actualCost'> & { readonly order: number | undefined },
): void {
  if (ending === undefined || order === undefined || recordId === undefined) return;
  const { chainId, paymasterId, entryPoint, sender, nonce } = key;
  const of = { ...ids.next(), organisation: organisationOf(paymasterId), paymasterId, chainId };
  ending(of, order, { how, entryPoint, sender, nonce, actualCost });
}
