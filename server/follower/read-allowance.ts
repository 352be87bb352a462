import { DomainError } from '../../core/errors.js';
import type { EpochMs } from '../../core/units/time.js';

/** How many balances of new wallets are read per second for one organisation: each costs the node two or three calls. */
export const readsPerSecond = 5;

/** Keeps an organisation with many wallets from using up the node's calls for everybody else. */
export class ReadAllowance {
  #second = 0;
  readonly #taken = new Map<string, number>();

  /** Throws UNAVAILABLE (DEPOSIT_UNKNOWN) once the second's reads are used up. */
  take(organisation: string, now: EpochMs): void {
    const second = Math.floor(now / 1000);
    if (second !== this.#second) this.#taken.clear();
    this.#second = second;
    const taken = this.#taken.get(organisation) ?? 0;
    if (taken >= readsPerSecond)
      throw new DomainError('UNAVAILABLE', `${organisation} asked for ${taken} new balances in a second`, {
        reason: 'DEPOSIT_UNKNOWN',
        retryAfterSeconds: 1,
      });
    this.#taken.set(organisation, taken + 1);
  }
}
