import type { Period, Zone } from './local-time.js';

// What tenants and the platform have written, in the model's own form. Amounts are wei, millionths of a dollar, or operations.

export const units = ['COUNT', 'NATIVE_ASSET', 'USD'] as const;
export type Unit = (typeof units)[number];

export type Cycle =
  | { readonly kind: 'hours'; readonly hours: number }
  | { readonly kind: 'calendar'; readonly every: Period; readonly zone: Zone }
  | { readonly kind: 'never' };

/** A spending limit of a paymaster. Times are milliseconds. */
export type Limit = {
  readonly unit: Unit;
  readonly perSender: boolean;
  /** Absent: `perOperation` alone. */
  readonly threshold?: bigint;
  readonly cycle: Cycle;
  readonly perOperation?: bigint;
  /** Of hours. */
  readonly startTime?: number;
  /** Of a calendar or an endless limit. */
  readonly restartedAt?: number;
  /** Of an endless limit. */
  readonly assumeUsed?: bigint;
  readonly isActive: boolean;
  readonly isShadow: boolean;
  readonly campaign?: string;
  readonly name: string;
};

/** A budget of an organisation. */
export type Budget = Pick<Limit, 'cycle' | 'restartedAt' | 'assumeUsed' | 'isShadow'> & {
  readonly usd: bigint;
};

/** Three paymasters of two organisations. */
export const paymasters = [
  { organisation: 'acme', name: 'one' },
  { organisation: 'acme', name: 'two' },
  { organisation: 'other', name: 'three' },
] as const;
export const limitsPerPaymaster = 4;
/** Both have budgets of these names. */
export const budgetNames = ['large', 'small'] as const;
export const organisations = ['acme', 'other'] as const;
export const campaignNames = ['spring', 'autumn'] as const;

/** Operations that are asked for. The prices of gas are no whole gwei. */
export const operations = [
  { callGasLimit: 100_000n, maxFeePerGas: 1_000_000_000n },
  { callGasLimit: 100_003n, maxFeePerGas: 2_123_456_789n },
  { callGasLimit: 1_000_000n, maxFeePerGas: 7_000_000_001n },
  { callGasLimit: 345_678n, maxFeePerGas: 30_000_000_000n },
  { callGasLimit: 2_000_001n, maxFeePerGas: 45_999_999_999n },
] as const;
export const verificationGasLimit = 100_000n;
export const preVerificationGas = 50_000n;

/** The prefund that EntryPoint 0.6 takes for an operation with a paymaster. */
export function mostWei(operation: number): bigint {
  const { callGasLimit, maxFeePerGas } = operations[operation]!;
  return (callGasLimit + 3n * verificationGasLimit + preVerificationGas) * maxFeePerGas;
}

/** Dollars per coin, with the 8 decimals of the feed. */
export const prices = [
  200_000_000_000n,
  312_345_678_901n,
  199_999_999n,
  150_000_000_001n,
  912_345_000_000n,
] as const;

/** What an amount of wei counts in a unit, rounded up; `price` as in {@link prices}. */
export function countOf(unit: Unit, wei: bigint, price: bigint | undefined): bigint | undefined {
  if (unit === 'COUNT') return 1n;
  if (unit === 'NATIVE_ASSET') return divideUp(wei, 10n ** 9n);
  // 10^18 wei are a coin, 10^8 of the price a dollar, 10^6 of the result too; and one percent more.
  return price === undefined
    ? undefined
    : divideUp(wei * price * 101n * 10n ** 6n, 100n * 10n ** 18n * 10n ** 8n);
}

/** A threshold as the unit counts it, rounded down: gwei instead of wei. */
export function boundOf(unit: Unit, amount: bigint): bigint {
  return unit === 'NATIVE_ASSET' ? amount / 10n ** 9n : amount;
}

/** Decimal text of a threshold. */
export function textOf(unit: Unit, amount: bigint): string {
  const decimals = { COUNT: 0, NATIVE_ASSET: 18, USD: 6 }[unit];
  const digits = amount.toString().padStart(decimals + 1, '0');
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '');
  const whole = digits.slice(0, digits.length - decimals);
  return decimals === 0 || fraction === '' ? whole : `${whole}.${fraction}`;
}

function divideUp(value: bigint, by: bigint): bigint {
  return (value + by - 1n) / by;
}
