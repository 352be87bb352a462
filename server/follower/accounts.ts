import type { AccountId } from '../../core/usage/reservation.js';
import type { AccountBalance } from '../../core/usage/reserve-request.js';
import type { AddressKey } from '../../core/units/address.js';
import type { EpochMs } from '../../core/units/time.js';
import { accountName } from './balances.js';

/**
 * A wallet without live promises is followed for this long after its last promise, or after it was first seen. Then nothing is
 * read until somebody asks for it, and that request reads its balance: a deposit that has come meanwhile counts at once.
 */
export const followedForMs = 2 * 60_000;

/**
 * Decides which accounts are followed: each contract's own deposit, the platform's wallets, and any other account with live
 * promises or recent requests. The replica that gets a request for a wallet puts the wallet into the store, so replicas need not
 * send each other messages. Accounts of a contract that no profile names any longer are followed only while they have live
 * promises.
 */
export class AccountsInUse {
  /** Time of the last promise from an account, by account name; without a promise, the time at which it was first seen. */
  readonly #used = new Map<string, EpochMs>();

  /**
   * `followed`: the accounts whose balances a step reads. `forgotten`: those whose balance the store forgets: the next request for one
   * reads its balance, as for a new wallet.
   */
  select(
    known: readonly AccountBalance[],
    platform: readonly AccountId[],
    contracts: ReadonlySet<AddressKey>,
    now: EpochMs,
  ) {
    const followed = new Map<string, AccountId>();
    const forgotten: AccountId[] = [];
    for (const contract of contracts) followed.set(accountName({ contract }), { contract });
    for (const account of platform)
      if (contracts.has(account.contract)) followed.set(accountName(account), account);
    const names = new Set(known.map(accountName));
    for (const name of this.#used.keys()) if (!names.has(name)) this.#used.delete(name);
    for (const { contract, fundingAddress, reserved } of known) {
      const account = fundingAddress === undefined ? { contract } : { contract, fundingAddress };
      const name = accountName(account);
      if (followed.has(name)) continue;
      if (!contracts.has(contract)) {
        // When a profile is offered again, the store must not hold a balance that nobody has read in the meantime.
        if (reserved > 0) followed.set(name, account);
        else forgotten.push(account);
        continue;
      }
      if (reserved > 0 || !this.#used.has(name)) this.#used.set(name, now);
      const isInUse = now - (this.#used.get(name) ?? now) < followedForMs;
      if (!isInUse) forgotten.push(account);
      else followed.set(name, account);
    }
    return { followed: [...followed.values()], forgotten };
  }
}
