import type { AddressKey } from '../units/address.js';
import { formatInstant, type EpochMs } from '../units/time.js';
import { formatCoins, gweiFloor, parseEther, type Gwei } from '../units/wei.js';
import { refuse, type Refusal } from '../refusal.js';

// How much may be lost on ERC20 operations that are mined and pay no token, and the texts of the refusals.

/** Coins that token payments of a contract may lose in a day (UTC) if its profile does not say, as decimal text. */
export const defaultTokenLossBudget = '0.1';

/** The `tokenLossBudget` of a profile in gwei, as it is counted. Throws RangeError for text that is not decimal. */
export function parseLossBudget(text: string = defaultTokenLossBudget): Gwei {
  return gweiFloor(parseEther(text));
}

/** SENDER_BARRED for people: the account has caused a loss. */
export function senderBarred(sender: AddressKey, until: EpochMs): Refusal {
  return refuse(
    'SENDER_BARRED',
    `an operation of ${sender} paid no token; ask again after ${formatInstant(until)}`,
  );
}

/** TOKEN_LOSS for people: the token mode of a contract has stopped for the day. */
export function tokenModeStopped(contract: AddressKey, budget: number, until: EpochMs): Refusal {
  return refuse(
    'TOKEN_LOSS',
    `${contract} has lost more than ${formatCoins(budget)} coins; resets at ${formatInstant(until)}`,
  );
}

/** The party whose part of the loss budget is used up. */
export type ExposedParty = 'contract' | 'organisation' | 'paymaster' | 'account';

/** TOKEN_EXPOSURE_FULL for people: promised unsecured token payments and today's losses leave too little room. */
export function exposureFull(
  party: ExposedParty,
  { taken, most, cost }: { readonly taken: number; readonly most: number; readonly cost: number },
): Refusal {
  const losses = party === 'contract' ? ', and the losses of the day,' : '';
  return refuse(
    'TOKEN_EXPOSURE_FULL',
    `those of this ${party} that are not mined yet${losses} take ${formatCoins(taken)} of ${formatCoins(most)} coins, this one needs ${formatCoins(cost)}`,
  );
}
