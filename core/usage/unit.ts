/** What an operation costs, for limits of any unit. */
export type OperationCost = {
  /** The most that it can cost. */
  readonly wei: bigint;
};

/** What a reservation holds of a limit. */
export type Taken = { readonly cost: number };

/**
 * A unit in which limits count. Counters hold integers below 2^53 of `decimals` implied decimals. Costs are rounded up
 * and thresholds down, so that rounding never lets more through.
 */
export type UnitRow = {
  readonly decimals: number;
  /** The word behind an amount for people, in the plural. */
  readonly noun: string;
  /** What limits of this unit bound: the rest of a sentence. */
  readonly bounds: string;
  /** Most digits of a threshold. */
  readonly digits: { readonly whole: number; readonly fraction: number };
  /** What a threshold is, when one is refused; the digits are added. */
  readonly threshold: string;
  /** What the definition says about a threshold with more digits; absent: it takes them all. */
  readonly tooLong?: string;
  /** The counted integer as metrics call it. */
  readonly measure: string;
  take(cost: OperationCost): Taken;
  /** What a mined operation has spent of what it took: never more. `actualCost` in gwei; Infinity: as much as it took. */
  spent(taken: Taken, actualCost: number): number;
  /** The counted integer in JSON, with the words that describe it. */
  readonly wire: { readonly description: string; render(amount: number): number | string };
};
