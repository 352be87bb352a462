import type { AddressKey } from '../units/address.js';
import type { EpochMs } from '../units/time.js';
import type { Gwei } from '../units/wei.js';
import { lossCounter } from './counter-names.js';
import type { Charge } from './follower-step.js';
import type { CounterId } from './reservation.js';
import type { Bar } from './reserve-request.js';
import { windowAt, type Window } from './window.js';

// What the platform loses on operations that were mined in mode ERC20 and paid no token. The follower adds such a
// loss to counters when the operation settles. These counters bar later requests.

const dayMs = 86_400_000;
/** Losses up to this amount are ignored, in gwei. */
const tolerated = 1;

/**
 * A paymaster contract on one chain. The same address on another chain is a different contract, with separate losses.
 */
type TokenContract = { readonly chainId: number; readonly contract: AddressKey };

type LossCounter = CounterId & { readonly window: Window };

/** Everything that a contract has lost on the day (UTC) of `at`. */
export function contractLosses(of: TokenContract, at: EpochMs): LossCounter {
  return counterIn(of, 0, dayMs, '', at);
}

/**
 * What an account has lost, in two windows of two days that begin a day apart. So an account stays barred for one to
 * two days after a loss, whenever the loss happened. The window that ends later comes first: an account that both
 * windows bar is told when the later one ends.
 */
export function accountLosses(of: TokenContract, sender: AddressKey, at: EpochMs): readonly LossCounter[] {
  const first = counterIn(of, 0, 2 * dayMs, sender, at);
  const second = counterIn(of, dayMs, 2 * dayMs, sender, at);
  return first.window.until > second.window.until ? [first, second] : [second, first];
}

/** Number of bars that concern the account. */
export const accountBars = 2;

/**
 * The bars of a request in mode ERC20: first the losses of the account, then those of the contract, which may not
 * exceed `budget`. Where nothing can be lost, the losses of the contract bar nothing.
 */
export function lossBars(
  of: TokenContract,
  sender: AddressKey,
  { budget, canLose, now }: { readonly budget: Gwei; readonly canLose: boolean; readonly now: EpochMs },
): readonly Bar[] {
  const ofAccount = accountLosses(of, sender, now).map((counter) => ({ ...counter, most: tolerated }));
  return canLose ? [...ofAccount, { ...contractLosses(of, now), most: budget }] : ofAccount;
}

/** What one operation adds to the counters that was mined at `at` and lost `loss` gwei. `bars`: its account did not pay. */
export function lossCharges(
  of: TokenContract,
  sender: AddressKey,
  { loss, bars, at }: { readonly loss: number; readonly bars: boolean; readonly at: EpochMs },
): readonly Charge[] {
  const counters = bars
    ? [...accountLosses(of, sender, at), contractLosses(of, at)]
    : [contractLosses(of, at)];
  return counters.map(({ counter, unit, window }) => ({
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
