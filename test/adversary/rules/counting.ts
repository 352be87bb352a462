import { periodAt, nextPeriod } from './local-time.js';
import type { Budget, Cycle, Limit, Unit } from './written.js';

// Where a limit counts, as DESIGN says it: which counter its operations share at a time.

const hourMs = 3_600_000;
const endless = Infinity;
/** Clocks differ: a restart that is further ahead has not come. */
const aheadMs = 60_000;

/** What an edit is compared with: the terms for which the count was begun. */
export type Counting = {
  readonly begun: number;
  readonly cycle: Cycle;
  readonly terms: string;
  readonly unit: Unit;
  readonly startTime?: number;
  /** In force. */
  readonly assumed?: bigint;
  /** As it was written last. */
  readonly assumeUsed?: bigint;
};

/**
 * The count of a limit that was written and is read at `now`. `known`: how it counted before. `isMadeAgain`: under the name of one
 * that was deleted in the window that is still open.
 */
export function countingOf(
  limit: Limit,
  known: Counting | undefined,
  isMadeAgain: boolean,
  now: number,
): Counting {
  const { cycle, startTime, restartedAt, assumeUsed, unit } = limit;
  const terms = `${limit.unit} ${limit.threshold} ${limit.perSender} ${JSON.stringify(cycle)}`;
  if (cycle.kind === 'hours') {
    const started = startTime === undefined ? {} : { startTime };
    const isSame = known?.terms === terms;
    if (isSame && (isMadeAgain || startTime === undefined || startTime === known.startTime))
      return { begun: known.begun, cycle, terms, unit, ...started };
    const isNewTime = startTime !== undefined && (isMadeAgain || startTime !== known?.startTime);
    return { begun: isNewTime ? startTime : now, cycle, terms, unit, ...started };
  }
  const former = known?.cycle.kind === 'hours' ? undefined : known;
  const isRestarted =
    restartedAt !== undefined && restartedAt <= now + aheadMs && restartedAt > (former?.begun ?? -Infinity);
  const isSameUnit = former?.unit === limit.unit;
  const isAssumed = assumeUsed !== undefined && !(isSameUnit && assumeUsed === former.assumeUsed);
  const kept = isRestarted ? restartedAt : (former?.begun ?? now);
  const begun = isAssumed ? Math.max(now, kept, (former?.begun ?? 0) + 1) : kept;
  const assumed = isAssumed ? assumeUsed : isRestarted || !isSameUnit ? undefined : former.assumed;
  return {
    begun,
    cycle,
    terms,
    unit,
    ...(assumed === undefined ? {} : { assumed }),
    ...(assumeUsed === undefined ? {} : { assumeUsed }),
  };
}

/** Names the window that contains `now`. */
export function windowOf({ cycle, begun }: Pick<Counting, 'cycle' | 'begun'>, now: number): string {
  if (cycle.kind === 'never') return `${begun}`;
  if (cycle.kind === 'calendar') return `${begun} ${periodAt(cycle.zone, cycle.every, now)}`;
  return `${begun} ${cycle.hours} h ${Math.max(0, Math.floor((now - begun) / (cycle.hours * hourMs)))}`;
}

/** When the window that contains `now` ends. */
export function endOf({ cycle, begun }: Pick<Counting, 'cycle' | 'begun'>, now: number): number {
  if (cycle.kind === 'never') return endless;
  if (cycle.kind === 'calendar') return nextPeriod(cycle.zone, cycle.every, now);
  const length = cycle.hours * hourMs;
  return begun + (Math.max(0, Math.floor((now - begun) / length)) + 1) * length;
}

/** When the window that contains `now` began to count. */
export function startOf({ cycle, begun }: Pick<Counting, 'cycle' | 'begun'>, now: number): number {
  // A restart that is at most a minute ahead is in force, also when it is on the next day.
  if (cycle.kind === 'never' || begun > now) return Math.min(begun, now);
  if (cycle.kind === 'hours') {
    const length = cycle.hours * hourMs;
    return Math.min(now, begun + Math.max(0, Math.floor((now - begun) / length)) * length);
  }
  const name = periodAt(cycle.zone, cycle.every, now);
  return periodAt(cycle.zone, cycle.every, begun) === name ? Math.min(begun, now) : beginOf(cycle, now);
}

function beginOf(cycle: Extract<Cycle, { kind: 'calendar' }>, now: number): number {
  const longest = { day: 26, week: 8 * 24, month: 32 * 24 }[cycle.every] * hourMs;
  let at = nextPeriod(cycle.zone, cycle.every, now - longest);
  while (periodAt(cycle.zone, cycle.every, at) !== periodAt(cycle.zone, cycle.every, now))
    at = nextPeriod(cycle.zone, cycle.every, at);
  return at;
}

/**
 * The window of a budget. `restartedAt` counts from the time that it names; a month that begins later is the month that it would be
 * without. A new amount or length of hours begins anew, in windows that stay where they are.
 */
export function budgetWindow({ cycle, restartedAt = 0, usd }: Budget, now: number): string {
  const begun = restartedAt <= now ? restartedAt : 0;
  if (cycle.kind === 'hours') return `${usd} ${windowOf({ cycle, begun }, now)}`;
  if (cycle.kind === 'never') return windowOf({ cycle, begun }, now);
  const isInIt =
    begun > 0 && periodAt(cycle.zone, cycle.every, begun) === periodAt(cycle.zone, cycle.every, now);
  return windowOf({ cycle, begun: isInIt ? begun : 0 }, now);
}
