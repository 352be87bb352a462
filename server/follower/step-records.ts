import type { FollowerStep } from '../../core/usage/follower-step.js';
import type { Reservation } from '../../core/usage/reservation.js';
import { readBlocks, timeOf } from './step-blocks.js';
import type { ChainFollowerDeps } from './chain-follower-deps.js';
import type { MovementRecorder, MovementStep } from './movement-recorder.js';
import { reversals, withRecord, type StepEnds } from './records.js';
import { settledInStep } from './settlement.js';
import { stepSettlements } from './step-settlements.js';

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
  const blockOf = await readBlocks(
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
  const settlements = stepSettlements({ ledger, chainId, current }, ends, target, (block) =>
    timeOf(blockOf(block)),
  );
  const movements = await recorder.record({ ...step, ledger, settled: ends.settled, blockOf });
  return { ...endings(ends, settlements), records: [...reversed, ...movements] };
}

function endings(
  { settled, released, expired, forfeited }: StepEnds,
  settlements: Parameters<typeof withRecord>[0],
): Pick<FollowerStep, 'settled' | 'released' | 'forfeited'> {
  return {
    settled: settledInStep(settled).map(withRecord(settlements)),
    released: [
      ...released.map(({ key }) => ({ key })),
      ...expired.map(({ key, validUntil }) => ({ key, validUntil })),
    ].map(withRecord(settlements)),
    forfeited: forfeited.map(({ key }) => ({ key })).map(withRecord(settlements)),
  };
}
