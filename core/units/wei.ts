import { trimEnd } from './trim-end.js';

declare const brand: unique symbol;

/** Native-token amount in wei. Non-negative; never a float, never ether. */
export type Wei = bigint & { readonly [brand]: 'Wei' };

/**
 * Native-token amount in gwei, as usage stores count it: an integer that a double holds exactly, up to 9 million
 * ether. Costs are rounded up, thresholds and balances down, so that rounding never lets more through.
 */
export type Gwei = number & { readonly [brand]: 'Gwei' };

const weiPerGwei = 1_000_000_000n;
const decimalPattern = /^(0|[1-9][0-9]*)(?:\.([0-9]+))?$/;

export function wei(value: bigint): Wei {
  if (value < 0n) throw new RangeError(`an amount of wei cannot be negative, got ${value}`);
  return value as Wei;
}

/** An amount of gwei computed from others. */
export function gwei(value: number): Gwei {
  if (!Number.isSafeInteger(value) || value < 0)
    throw new RangeError(`an amount of gwei is a whole number from 0 to 2^53 - 1, got ${value}`);
  return value as Gwei;
}

/** Parses a decimal amount of ether exactly, e.g. "0.05". More than 18 decimals is an error, not a rounding. */
export function parseEther(text: string): Wei {
  return parseDecimal(text, 18) as Wei;
}

/** More than 2^256 has with any decimals. */
const maxDecimalText = 128;

/** Parses plain decimal text (no sign, no exponent) into an integer of `decimals` implied decimals. */
export function parseDecimal(text: string, decimals: number): bigint {
  // BigInt takes more than linear time for a long text.
  if (text.length > maxDecimalText)
    throw new RangeError(`expected at most ${maxDecimalText} characters, got ${text.length}`);
  const match = decimalPattern.exec(text);
  if (!match) throw new RangeError(`expected plain decimal text such as "0.05", got "${text}"`);
  const fraction = trimEnd(match[2] ?? '', '0');
  if (fraction.length > decimals)
    throw new RangeError(`expected at most ${decimals} decimals, got "${text}"`);
  return BigInt(match[1] + fraction.padEnd(decimals, '0'));
}

/** Shortest exact decimal text of an integer with `decimals` implied decimals, e.g. (50000000000000000n, 18) → "0.05". */
export function formatDecimal(value: bigint, decimals: number): string {
  if (value < 0n) return `-${formatDecimal(-value, decimals)}`;
  const digits = value.toString().padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  const fraction = trimEnd(digits.slice(digits.length - decimals), '0');
  return fraction === '' ? whole : `${whole}.${fraction}`;
}

/** Rounds a cost up to whole gwei. Amounts above 2^53 gwei throw: no real operation costs nine million ether. */
export function gweiCeil(amount: bigint): Gwei {
  return toGwei((amount + weiPerGwei - 1n) / weiPerGwei);
}

/** Rounds a threshold or balance down to whole gwei, saturating at 2^53 - 1 (a larger bound is never reached). */
export function gweiFloor(amount: bigint): Gwei {
  const gwei = amount / weiPerGwei;
  return (gwei > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(gwei)) as Gwei;
}

export function gweiToWei(amount: Gwei): Wei {
  return (BigInt(amount) * weiPerGwei) as Wei;
}

function toGwei(gwei: bigint): Gwei {
  if (gwei > BigInt(Number.MAX_SAFE_INTEGER))
    throw new RangeError(`${gwei} gwei exceeds the countable range`);
  return Number(gwei) as Gwei;
}

/** Quotient of non-negative integers, rounded up, because costs round against the payer. */
export function divideUp(dividend: bigint, divisor: bigint): bigint {
  return (dividend + divisor - 1n) / divisor;
}

export function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

export function smaller(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

/** An amount of gwei in coins, e.g. 0.05. */
export function formatCoins(gwei: number): string {
  return formatDecimal(BigInt(gwei), 9);
}

/** Of an integer amount, rounded down. Computed in two parts, because a hundred times an amount may not fit into a double. */
export function takePercent(amount: number, percent: number): number {
  return Math.floor(amount / 100) * percent + Math.floor(((amount % 100) * percent) / 100);
}
