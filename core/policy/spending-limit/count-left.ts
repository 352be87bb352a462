import { plusMs, type EpochMs } from '../../units/time.js';
import type { CounterId } from '../../usage/reservation.js';
import type { CounterState } from '../../usage/reserve-request.js';
import { renderFigure, formatAmount } from '../../usage/units.js';
import { toAddressKey, zeroAddress } from '../../units/address.js';
import { noCost } from '../../usage/unit.js';
import { decideCycle } from './cycle.js';
import { toLimitConfig } from './kind.js';
import { compileLimits, limitShares } from './shares.js';
import { isCounted, type CycleStatus, type LimitConfig, type SpendingLimitSpec } from './schema.js';

/** A count that a change of its limit leaves behind: what is in it no longer counts. */
export type CountLeft = CounterId & {
  readonly threshold: number;
  readonly perSender: boolean;
  /** With `keepCount` the same change would leave nothing behind. */
  readonly canBeKept: boolean;
};

type Known = {
  readonly policyId: string;
  /** As the status records it. */
  readonly cycle?: CycleStatus | undefined;
  readonly served?: LimitConfig | undefined;
  readonly now: EpochMs;
};

/** Undefined when the count goes on, or nothing was counted. */
export function countLeft(
  before: SpendingLimitSpec,
  after: SpendingLimitSpec,
  { policyId, cycle: recorded, served, now }: Known,
): CountLeft | undefined {
  const was = isCounted(before) ? decideCycle(before, recorded, served, now) : recorded;
  // Without a threshold the cycle stays recorded.
  if (was === undefined || !isCounted(after)) return undefined;
  // A cycle that nobody has recorded begins now. One that begins anew must differ from it.
  const then = plusMs(now, 1);
  const countCycle = (cycle: CycleStatus) =>
    countLimit(toLimitConfig({ policyId, name: '' }, cycle, then), then);
  const left = countCycle(was);
  const goesOn = (spec: typeof after): boolean => {
    const next = countCycle(decideCycle(spec, was, undefined, then));
    return next.counter === left.counter && next.unit === left.unit;
  };
  return goesOn(after) ? undefined : { ...left, canBeKept: goesOn({ ...after, keepCount: true }) };
}

function countLimit(config: ReturnType<typeof toLimitConfig>, now: EpochMs): Omit<CountLeft, 'canBeKept'> {
  const limits = compileLimits([config]);
  const [share] = limitShares(limits, { sender: toAddressKey(zeroAddress), cost: noCost, now });
  const { counter, unit, threshold } = share!;
  return { counter, unit, threshold, perSender: config.scope === 'SMART_ACCOUNT' };
}

/** For people. `state`: of the counter; undefined: it is not known. */
export function describeCountLeft(
  { unit, threshold, perSender }: CountLeft,
  state: CounterState | undefined,
): string {
  const most = formatAmount(unit, threshold);
  if (perSender) return `the count begins anew: what each account has used of ${most} is forgotten`;
  const used = state === undefined ? 'what was used' : renderFigure(unit, state.used + state.reserved);
  return `the count begins anew: ${used} of ${most} forgotten`;
}
