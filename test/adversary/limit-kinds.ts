import type { LimitConfig } from '../../core/policy/spending-limit/schema.js';
import type { Calendar } from '../../core/usage/calendar.js';
import type { AddressKey } from '../../core/units/address.js';
import type { EpochMs } from '../../core/units/time.js';
import { paymasters } from './world.js';
import { divideUp } from '../../core/units/wei.js';

/** One limit of a paymaster as its owner last wrote it. A new start begins a new count. */
export type LimitState = { startMs: EpochMs; threshold: number; isActive: boolean };

/** The unit of {@link LimitState.threshold}: an operation, a thousandth of a coin, 30 dollars. As the unit counts. */
const steps = { COUNT: 1, NATIVE_ASSET: 1_000_000, USD: 30_000_000 } as const;

type Kind = {
  readonly thresholdType: keyof typeof steps;
  readonly scope: 'PAYMASTER' | 'SMART_ACCOUNT';
  readonly durationMs?: number;
  readonly calendar?: Calendar;
  readonly shadow?: true;
  /** The threshold as the owner first wrote it. */
  readonly first: number;
};

/** Midnight is an hour after the runs begin. */
const zone = { timeZone: 'Atlantic/Cape_Verde', behindMs: 3_600_000 };

/** The limits of each paymaster: every unit, cycle, scope and enforcement. Without a length or calendar it is endless. */
export const limitKinds: readonly Kind[] = [
  { scope: 'PAYMASTER', thresholdType: 'NATIVE_ASSET', durationMs: 600_000, first: 30 },
  { scope: 'SMART_ACCOUNT', thresholdType: 'COUNT', durationMs: 1_800_000, first: 4 },
  {
    scope: 'PAYMASTER',
    thresholdType: 'USD',
    calendar: { every: 'day', timeZone: zone.timeZone },
    first: 30,
  },
  { scope: 'SMART_ACCOUNT', thresholdType: 'NATIVE_ASSET', first: 120 },
  { scope: 'PAYMASTER', thresholdType: 'USD', durationMs: 3_600_000, shadow: true, first: 3 },
];

/** Of each organisation, in dollars. */
const budget = { dollars: 200, durationMs: 1_800_000 };

export function policyIdOf(index: number, limit: number): string {
  return `${paymasters[index]!.paymasterId}/${limit}`;
}

/** The limit as it is served. */
export function limitConfigOf(index: number, limit: number, { startMs, threshold }: LimitState): LimitConfig {
  const { first: _, ...kind } = limitKinds[limit]!;
  const policyId = policyIdOf(index, limit);
  const text = {
    COUNT: String(threshold),
    NATIVE_ASSET: (threshold / 1000).toFixed(3),
    USD: String(threshold * 30),
  };
  return { policyId, name: policyId, ...kind, threshold: text[kind.thresholdType], startMs };
}

function budgetIdOf(index: number): string {
  return `budget/${paymasters[index]!.namespace}`;
}

/** The budget of the organisation, in which all its paymasters count. */
export function budgetConfigOf(index: number): LimitConfig {
  const policyId = budgetIdOf(index);
  return {
    policyId,
    name: policyId,
    budget: true,
    scope: 'PAYMASTER',
    thresholdType: 'USD',
    threshold: String(budget.dollars),
    durationMs: budget.durationMs,
    startMs: 0 as EpochMs,
  };
}

/** Prices of a coin, in millionths of a dollar. */
export const prices = [3_000_000_000n, 2_000_000_001n, 4_500_000_000n] as const;
export const highestPrice = prices[2];

/** What a limit bounds, as the rules count it. */
export type Bound = {
  /** Of its counter. */
  readonly name: string;
  readonly unit: LimitConfig['thresholdType'];
  readonly until: number;
  /** Undefined in Shadow. */
  readonly most: number | undefined;
  /** Millionths of a dollar per 10^18 wei at this moment. */
  readonly price: bigint;
  /** Of a budget: what the live promises of one paymaster may hold. */
  readonly share?: number;
};

const endless = Number.MAX_SAFE_INTEGER;

/** The counters that the limits of a paymaster bound now, as the rules count them, independent of `core/usage`. */
export function boundsAt(
  index: number,
  limits: readonly LimitState[],
  { sender, at, price }: { readonly sender: AddressKey; readonly at: EpochMs; readonly price: bigint },
): readonly Bound[] {
  const own = limits.flatMap(({ startMs, threshold, isActive }, i): readonly Bound[] => {
    if (!isActive) return [];
    const kind = limitKinds[i]!;
    const { scope, thresholdType: unit, shadow } = kind;
    const { window, until } = windowAt(kind, startMs, at);
    const subject = scope === 'SMART_ACCOUNT' ? sender : '';
    const name = `${policyIdOf(index, i)}/${startMs}/${window}/${subject}`;
    return [{ name, unit, until, most: shadow === true ? undefined : threshold * steps[unit], price }];
  });
  const most = budget.dollars * 1_000_000;
  const { window, until } = windowAt(budget, 0, at);
  const name = `${budgetIdOf(index)}/${budget.durationMs}/${budget.dollars}/0/${window}/`;
  return [...own, { name, unit: 'USD', until, most, price, share: most / 4 }];
}

/** What an amount of wei counts in the unit of a bound, rounded up. */
export function countIn({ unit, price }: Pick<Bound, 'unit' | 'price'>, wei: bigint): number {
  if (unit === 'COUNT') return 1;
  // One percent more, because the price may move.
  const count = unit === 'USD' ? divideUp(wei * price * 101n, 100n * 10n ** 18n) : divideUp(wei, 10n ** 9n);
  return Number(count);
}

function windowAt(
  { durationMs, calendar }: Pick<Kind, 'durationMs' | 'calendar'>,
  startMs: number,
  at: number,
) {
  if (durationMs !== undefined) {
    const index = Math.max(0, Math.floor((at - startMs) / durationMs));
    return { window: index, until: startMs + (index + 1) * durationMs };
  }
  if (calendar === undefined) return { window: 'all', until: endless };
  const day = Math.floor((at - zone.behindMs) / 86_400_000);
  const window = new Date(day * 86_400_000).toISOString().slice(0, 10);
  return { window, until: (day + 1) * 86_400_000 + zone.behindMs };
}
