import type { Settlement, MinedFacts, Reversal } from '../../core/ledger/record.js';
import type { AddressKey } from '../../core/units/address.js';
import type { EpochMs } from '../../core/units/time.js';
import type { FollowerStep } from '../../core/usage/follower-step.js';
import type { Reservation } from '../../core/usage/reservation.js';
import { operationId, reservationId } from './mined.js';
import type { MovementRecorder, MovementStep } from './movement-recorder.js';
import type { ChainFollowerDeps, FollowerLedger } from './round.js';
import type { Settled } from './settlement.js';
import { readBlocks, blockTime } from './source.js';

/** What the ledger gets to know about a step. */
type StepToRecord = Omit<MovementStep, 'ledger' | 'blockOf' | 'settled'> & {
  /** Reservations that the step makes live again. */
  readonly restored: readonly Reservation[];
};

/** How a step ends reservations, with the records of it; nothing is read when nothing is recorded. Throws UNAVAILABLE. */
export async function stepRecords(
  { ledger, chainId, current }: Pick<ChainFollowerDeps, 'ledger' | 'chainId' | 'current'>,
  recorder: MovementRecorder,
  ends: StepEnds,
  { restored, ...step }: StepToRecord,
): Promise<Pick<FollowerStep, 'settled' | 'released' | 'forfeited' | 'records'>> {
  if (ledger === undefined) return endings(ends, new Map());
  // Before the settlements: ids order the records of a reservation that is restored and settled again.
  const reversed = reversals(restored, { ...ledger, chainId });
  const { source, target, mined, paid, wanted } = step;
  const ours = new Set(wanted.contracts);
  const blockAt = await readBlocks(
    source,
    [
      ...ends.settled.map(({ operation }) => operation),
      ...mined.filter(({ paymaster }) => ours.has(paymaster)),
      ...paid.events.filter(({ blockNumber }) => blockNumber <= target.number),
      ...(paid.late === undefined
        ? []
        : [...paid.late.events, ...paid.late.kept.map(({ operation }) => operation)]),
    ],
    target,
  );
  const { feeTokens } = current().config;
  const settlements = listSettlements(ends, {
    ...ledger,
    chainId,
    at: blockTime(target),
    timeOf: (blockNumber) => blockTime(blockAt(blockNumber)),
    decimalsOf: (token) => feeTokens.find(({ address }) => address.toLowerCase() === token)?.decimals,
  });
  const movements = await recorder.record({ ...step, ledger, settled: ends.settled, blockOf: blockAt });
  return { ...endings(ends, settlements), records: [...reversed, ...movements] };
}

function endings(
  { settled, released, expired, forfeited }: StepEnds,
  settlements: Parameters<typeof withRecord>[0],
): Pick<FollowerStep, 'settled' | 'released' | 'forfeited'> {
  return {
    settled: settled
      .map(({ reservation: { key }, actualCost }) => ({ key, actualCost }))
      .map(withRecord(settlements)),
    released: [
      ...released.map(({ key }) => ({ key })),
      ...expired.map(({ key, validUntil }) => ({ key, validUntil })),
    ].map(withRecord(settlements)),
    forfeited: forfeited.map(({ key }) => ({ key })).map(withRecord(settlements)),
  };
}

// Records of how reservations end. A reservation whose decision was not recorded has none of these either.

/** How one step ends reservations. A reservation that is in several lists ends as the first of them says. */
export type StepEnds = {
  readonly settled: readonly Settled[];
  /** Their nonce was used by another operation. */
  readonly released: readonly Reservation[];
  /** Their time is over and their nonce unused. */
  readonly expired: readonly Reservation[];
  /** Their nonce is used, and no operation was found. */
  readonly forfeited: readonly Reservation[];
};

export type RecordContext = FollowerLedger & {
  readonly chainId: number;
  /** Time of the block at which the step ends. */
  readonly at: EpochMs;
  /** Time of a block that mined an operation of the step. */
  readonly timeOf: (blockNumber: number) => EpochMs;
  readonly decimalsOf: (token: AddressKey) => number | undefined;
};

/**
 * The settlements of a step, by {@link reservationId}. An operation that settles several reservations, because
 * it is not known which of them promised it, cost its sum once: the first one gets it.
 */
export function listSettlements(ends: StepEnds, context: RecordContext): ReadonlyMap<string, Settlement> {
  const settlements = new Map<string, Settlement>();
  const counted = new Set<string>();
  const add = (reservation: Reservation, ending: Pick<Settlement, 'at' | 'outcome' | 'mined'>): void => {
    const name = reservationId(reservation.key);
    if (reservation.recordId === undefined || settlements.has(name)) return;
    const { ids, chainId, organisationOf } = context;
    const { paymasterId } = reservation.key;
    settlements.set(name, {
      kind: 'settlement',
      id: ids.next().id,
      organisation: organisationOf(paymasterId),
      paymasterId,
      chainId,
      ...ending,
    });
  };
  const unspent = (outcome: 'expired' | 'spent-elsewhere') => (reservation: Reservation) =>
    add(reservation, { at: context.at, outcome, mined: undefined });

  for (const settled of ends.settled) {
    const { reservation, operation } = settled;
    const name = operationId(operation);
    if (counted.has(name)) unspent('spent-elsewhere')(reservation);
    else
      add(reservation, {
        at: context.timeOf(operation.blockNumber),
        outcome: 'mined',
        mined: minedFacts(settled, context),
      });
    counted.add(name);
  }
  ends.released.forEach(unspent('spent-elsewhere'));
  ends.expired.forEach(unspent('expired'));
  ends.forfeited.forEach(unspent('spent-elsewhere'));
  return settlements;
}

/** Adds the record of a reservation's end to its entry in the step. */
export function withRecord<E extends { readonly key: Reservation['key'] }>(
  settlements: ReadonlyMap<string, Settlement>,
): (entry: E) => E & { readonly record?: Settlement } {
  return (entry) => {
    const record = settlements.get(reservationId(entry.key));
    return record === undefined ? entry : { ...entry, record };
  };
}

/** A reorganisation has taken back what ended these reservations. */
export function reversals(
  restored: readonly Reservation[],
  { ids, chainId, organisationOf }: Pick<RecordContext, 'ids' | 'chainId' | 'organisationOf'>,
): NonNullable<FollowerStep['records']> {
  return restored.flatMap(({ key: { paymasterId }, recordId }) => {
    if (recordId === undefined) return [];
    const organisation = organisationOf(paymasterId);
    const reversal: Reversal = { kind: 'reversal', ...ids.next(), organisation, paymasterId, chainId };
    return [{ reservation: recordId, record: reversal }];
  });
}

function minedFacts(
  { operation, digest, charge }: Settled,
  { decimalsOf }: Pick<RecordContext, 'decimalsOf'>,
): MinedFacts {
  return {
    digest,
    userOpHash: operation.userOpHash,
    transactionHash: operation.transactionHash,
    blockNumber: operation.blockNumber,
    blockHash: operation.blockHash,
    logIndex: operation.logIndex,
    success: operation.success,
    actualGasCostWei: operation.actualGasCost,
    actualGasUsed: operation.actualGasUsed,
    token: charge && { address: charge.token, amount: charge.amount, decimals: decimalsOf(charge.token) },
  };
}
