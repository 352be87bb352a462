import type { AccountBalance, AccountId } from '../../core/usage/usage-store.js';
import type { AddressKey } from '../../core/units/address.js';
import type { EpochMs } from '../../core/units/time.js';
import { accountName } from './balances.js';

/** A wallet that nothing is promised from is followed for this long after the last promise, or after it was first seen. */
export const followedForMs = 10 * 60_000;

export type FollowedAccounts = {
  /** Whose balances a step reads. */
  readonly followed: readonly AccountId[];
  /** Of which the store is to forget the balance: the next ask for them reads it, as for a new wallet. */
  readonly forgotten: readonly AccountId[];
};

/**
 * Which accounts are followed: what each contract holds itself, the platform's own wallets, and of all others those with live
 * promises or recent asks. A wallet that was asked for is in the store, put there by the replica that was asked, so this needs no
 * message between replicas. Accounts of a contract that no profile names any longer are followed only while something is promised
 * from them.
 */
export class AccountsInUse {
  /** When something was last promised from an account, by name; when it was first seen where nothing ever was. */
  readonly #used = new Map<string, EpochMs>();

  select(
    known: readonly AccountBalance[],
    platform: readonly AccountId[],
    contracts: ReadonlySet<AddressKey>,
    now: EpochMs,
  ): FollowedAccounts {
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
        // A profile that is offered again must find no balance that nobody has read meanwhile.
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
