/** What an operation costs, for limits of any unit. */
export type OperationCost = {
  /** The most that it can cost. */
  readonly wei: bigint;
  /** US dollars per 10^18 wei with 18 implied decimals; undefined: no price may be used now. */
  readonly usdPerNative: bigint | undefined;
};

/** For looking at limits without taking anything from them. */
export const noCost: OperationCost = { wei: 0n, usdPerNative: 0n };

/** What a reservation holds of a limit. `rate`: the price by which a mined operation is counted, where the unit needs one. */
export type Taken = { readonly cost: number; readonly rate?: bigint };

/**
 * A unit in which limits count. Counters hold integers below 2^53 of `decimals` implied decimals. Costs are rounded up
 * and thresholds down, so that rounding never lets more through.
 */
export type UnitRow = {
  readonly decimals: number;
  /** The word that follows an amount in texts, in the plural. */
  readonly noun: string;
  /** What limits of this unit bound, as the end of a sentence. */
  readonly bounds: string;
  /** Most digits of a threshold. */
  readonly digits: { readonly whole: number; readonly fraction: number };
  /** What a threshold must be, for the message that refuses one; the number of digits is added. */
  readonly threshold: string;
  /** What the schema says about a threshold with more digits; absent: it accepts any number of digits. */
  readonly tooLong?: string;
  /** The counted integer as metrics call it. */
  readonly measure: string;
  /** Undefined: it cannot be counted now, because the cost lacks a price. */
  take(cost: OperationCost): Taken | undefined;
  /** What a mined operation has spent of what it took: never more. `actualCost` in gwei; Infinity: as much as it took. */
  spent(taken: Taken, actualCost: number): number;
  /** The counted integer in JSON, with the words that describe it. */
  readonly wire: { readonly description: string; render(amount: number): number | string };
};
