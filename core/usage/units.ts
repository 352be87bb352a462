import { formatDecimal, gweiFloor, parseDecimal } from '../units/wei.js';
import { microDollars } from '../pricing/rate.js';
import { noCost, type Taken, type UnitRow } from './unit.js';

const gweiDecimals = 9;
const weiPerGwei = 1_000_000_000n;

/** Every unit, by the `thresholdType` that limits name. */
export const units = {
  COUNT: {
    decimals: 0,
    noun: 'operations',
    bounds: 'the number of user operations',
    digits: { whole: 15, fraction: 0 },
    threshold: 'a whole number of user operations',
    tooLong: 'a whole number when thresholdType is COUNT; use NATIVE_ASSET for amounts of ether',
    measure: 'operations',
    take: () => one,
    spent: ({ cost }) => cost,
    wire: { description: 'a number', render: (amount) => amount },
  },
  NATIVE_ASSET: {
    decimals: gweiDecimals,
    noun: 'ether',
    bounds: 'the gas that is paid for them',
    digits: { whole: 15, fraction: 18 },
    threshold: 'an amount of the native token',
    measure: 'gwei',
    take: ({ wei }) => ({ cost: gweiFloor(wei + weiPerGwei - 1n) }),
    spent: ({ cost }, actualCost) => Math.min(actualCost, cost),
    wire: {
      description: 'wei as decimal text',
      render: (amount) => (BigInt(amount) * weiPerGwei).toString(),
    },
  },
  USD: {
    decimals: 6,
    noun: 'dollars',
    bounds:
      'the same in US dollars, at the price that the coin has when an operation is signed, and 1 % more',
    digits: { whole: 9, fraction: 6 },
    threshold: 'an amount of US dollars',
    tooLong: 'at most 9 digits before and 6 after the point when thresholdType is USD',
    measure: 'micro_dollars',
    take: ({ wei, usdPerNative }) =>
      usdPerNative === undefined
        ? undefined
        : { cost: countable(microDollars(wei, usdPerNative)), rate: usdPerNative },
    spent: ({ cost, rate }, actualCost) =>
      rate === undefined || actualCost === Infinity
        ? cost
        : Math.min(countable(microDollars(BigInt(actualCost) * weiPerGwei, rate)), cost),
    wire: {
      description: 'dollars as decimal text',
      render: (amount) => formatDecimal(BigInt(amount), 6),
    },
  },
} as const satisfies Record<string, UnitRow>;

const one: Taken = Object.freeze({ cost: 1 });

export type Unit = keyof typeof units;
export const unitNames = Object.keys(units) as readonly Unit[];

export function unitRow(unit: Unit): UnitRow {
  return units[unit];
}

/** Whether limits of the unit can count only while the coin has a price. */
export function needsPrice(unit: Unit): boolean {
  return unitRow(unit).take({ ...noCost, usdPerNative: undefined }) === undefined;
}

/** Whole units are counted one by one; an ordinary operation needs more than a hundredth of any other limit that people set. */
export function isFull(unit: Unit, used: number, threshold: number): boolean {
  return unitRow(unit).decimals === 0 ? used >= threshold : used * 100 >= threshold * 99;
}

/** Rounds down: the remaining part of an operation or of a gwei cannot pay for anything. Throws RangeError. */
export function parseThreshold(unit: Unit, text: string): number {
  return countable(
    parseDecimal(text, maxFractionDigits) / 10n ** BigInt(maxFractionDigits - unitRow(unit).decimals),
  );
}

const maxFractionDigits = 18;

/** Saturates: no threshold is higher than what can be counted. */
function countable(amount: bigint): number {
  return amount > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(amount);
}

/** An amount for people, e.g. "3 operations" or "0.05 ether". */
export function formatAmount(unit: Unit, amount: number): string {
  const { decimals, noun } = unitRow(unit);
  const figure = formatDecimal(BigInt(amount), decimals);
  return figure === '1' && decimals === 0 ? `1 ${noun.slice(0, -1)}` : `${figure} ${noun}`;
}

/** A figure without its noun: a number where units are whole, otherwise decimal text. */
export function renderFigure(unit: Unit, amount: number): number | string {
  const { decimals } = unitRow(unit);
  return decimals === 0 ? amount : formatDecimal(BigInt(amount), decimals);
}
