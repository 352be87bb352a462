import { DomainError } from '../errors.js';
import type { AddressKey } from '../units/address.js';
import type { EpochMs } from '../units/time.js';
import { formatDecimal, gweiFloor, parseEther, type Gwei } from '../units/wei.js';
import { refuse, type Refusal } from './verdict.js';

// How much operations in mode ERC20 may lose that are mined and pay no token, and what an account is told.

/** Coins that token payments of a contract may lose in a day (UTC) where its profile does not say, as decimal text. */
export const defaultTokenLossBudget = '0.1';

/** The budget of a profile, `tokenLossBudget`, as it is counted. Throws RangeError on what is not decimal text. */
export function parseLossBudget(text: string = defaultTokenLossBudget): Gwei {
  return gweiFloor(parseEther(text));
}

/** SENDER_BARRED for people: the account has caused a loss. */
export function senderBarred(sender: AddressKey, until: EpochMs): Refusal {
  return refuse(
    'SENDER_BARRED',
    `an operation of ${sender} paid no token; ask again after ${timeText(until)}`,
  );
}

/** Token mode of a contract has stopped for the day: PAYMASTER_NOT_READY. */
export function tokenModeStopped(contract: AddressKey, budget: number, until: EpochMs): DomainError {
  return new DomainError(
    'PAYMASTER_NOT_READY',
    `Token payments of ${contract} have stopped until ${timeText(until)}: operations that paid no token cost more than ${coins(budget)} coins today.`,
    { reason: 'TOKEN_LOSS' },
  );
}

/** Whose part of the loss budget is taken. */
export type ExposedParty = 'contract' | 'organisation' | 'paymaster' | 'account';

/**
 * What is promised in unsecured token payments and what was lost today leave no room for this one. RATE_LIMITED: it passes
 * when operations are mined or expire.
 */
export function exposureFull(
  party: ExposedParty,
  { taken, most, cost }: { readonly taken: number; readonly most: number; readonly cost: number },
): DomainError {
  return new DomainError(
    'RATE_LIMITED',
    `Unsecured token payments are full for now: those of this ${party} that are not mined yet${party === 'contract' ? ', and the losses of the day,' : ''} take ${coins(taken)} of ${coins(most)} coins, this one needs ${coins(cost)}. Try again in a minute, or allow the token paymaster to take the tokens before this operation, where the contract takes them first.`,
    { reason: 'TOKEN_EXPOSURE_FULL', retryAfterSeconds: exposureRetrySeconds },
  );
}

/** Promises in tokens are mined or expire within minutes. */
const exposureRetrySeconds = 15;

function coins(gwei: number): string {
  return formatDecimal(BigInt(gwei), 9);
}

function timeText(at: EpochMs): string {
  return new Date(at).toISOString();
}
