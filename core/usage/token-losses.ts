import type { AddressKey } from '../units/address.js';
import type { EpochMs } from '../units/time.js';
import type { Gwei } from '../units/wei.js';
import { lossCounter } from './counter-names.js';
import type { Bar, Charge, CounterId } from './usage-store.js';
import { windowAt, type Window } from './window.js';

// What the platform loses on operations that were mined in mode ERC20 and paid no token. The follower charges counters with it
// when such an operation settles; a request is barred by them.

const dayMs = 86_400_000;
/** Smaller losses are not counted as one, gwei. */
const tolerated = 1;

/** A paymaster contract of one chain. At the same address of another chain is another contract, with losses of its own. */
export type TokenContract = { readonly chainId: number; readonly contract: AddressKey };

export type LossCounter = CounterId & { readonly window: Window };

/** All that a contract has lost in the day (UTC) of `at`. */
export function contractLosses(of: TokenContract, at: EpochMs): LossCounter {
  return counterIn(of, 0, dayMs, '', at);
}

/**
 * What an account has lost, in two windows of two days that begin a day apart: an account that causes a loss at any moment
 * stays barred for one to two days. The window that ends later comes first, so that an account which both bar is told when
 * the second of them ends.
 */
export function accountLosses(of: TokenContract, sender: AddressKey, at: EpochMs): readonly LossCounter[] {
  const first = counterIn(of, 0, 2 * dayMs, sender, at);
  const second = counterIn(of, dayMs, 2 * dayMs, sender, at);
  return first.window.until > second.window.until ? [first, second] : [second, first];
}

/** The bars of a request in mode ERC20: the account's losses, then the contract's, which may not exceed `budget`. */
export function lossBars(
  of: TokenContract,
  sender: AddressKey,
  { budget, now }: { readonly budget: Gwei; readonly now: EpochMs },
): readonly Bar[] {
  return [
    ...accountLosses(of, sender, now).map((counter) => ({ ...counter, most: tolerated })),
    { ...contractLosses(of, now), most: budget },
  ];
}

/** What an operation adds that was mined at `at`, paid no token and cost `loss`. */
export function lossCharges(
  of: TokenContract,
  sender: AddressKey,
  { loss, at }: { readonly loss: Gwei; readonly at: EpochMs },
): readonly Charge[] {
  return [...accountLosses(of, sender, at), contractLosses(of, at)].map(({ counter, unit, window }) => ({
    counter,
    unit,
    until: window.until,
    amount: loss,
  }));
}

function counterIn(
  of: TokenContract,
  startMs: number,
  durationMs: number,
  subject: AddressKey | '',
  at: EpochMs,
): LossCounter {
  const { index, from, until } = windowAt({ startMs: startMs as EpochMs, durationMs }, at);
  return {
    counter: lossCounter(of, startMs, index, subject),
    unit: 'NATIVE_ASSET',
    window: { from, until },
  };
}
