import type { AddressKey } from '../units/address.js';
import type { EpochMs } from '../units/time.js';
import { gwei, type Gwei } from '../units/wei.js';
import type { AccountBalance, AccountId } from './usage-store.js';

/** Balance of a contract in the EntryPoint, or of a funding wallet inside the contract. */
export type Account = AccountId & {
  balance: Gwei | undefined;
  readAt: EpochMs | undefined;
  /** Sum of the needs of live reservations. */
  reserved: number;
  /** Number of reservations that name this account. */
  holders: number;
};

export class Accounts {
  readonly #byContract = new Map<AddressKey, Map<AddressKey | '', Account>>();

  find({ contract, fundingAddress = '' as AddressKey }: AccountId): Account | undefined {
    return this.#byContract.get(contract)?.get(fundingAddress);
  }

  /** The account with this name; creates it if it does not exist. */
  of({ contract, fundingAddress }: AccountId): Account {
    const known = this.find({ contract, ...(fundingAddress === undefined ? {} : { fundingAddress }) });
    if (known !== undefined) return known;
    const made: Account = {
      contract,
      ...(fundingAddress === undefined ? {} : { fundingAddress }),
      balance: undefined,
      readAt: undefined,
      reserved: 0,
      holders: 0,
    };
    let ofContract = this.#byContract.get(contract);
    if (ofContract === undefined) this.#byContract.set(contract, (ofContract = new Map()));
    ofContract.set(fundingAddress ?? '', made);
    return made;
  }

  hold(account: Account, need: number): void {
    account.holders += 1;
    account.reserved += need;
  }

  /**
   * Takes back the need of one reservation. Forgets the account when no other reservation names it and its balance was
   * never read.
   */
  unhold(account: Account, need: number): void {
    account.holders -= 1;
    account.reserved -= need;
    if (account.holders === 0 && account.balance === undefined) this.remove(account);
  }

  remove({ contract, fundingAddress }: AccountId): void {
    const ofContract = this.#byContract.get(contract);
    ofContract?.delete(fundingAddress ?? '');
    if (ofContract?.size === 0) this.#byContract.delete(contract);
  }

  *all(): IterableIterator<Account> {
    for (const ofContract of this.#byContract.values()) yield* ofContract.values();
  }
}

/** What the port shows of an account. An unknown account has neither a balance nor promises. */
export function balanceOf(
  { contract, fundingAddress }: AccountId,
  account: Account | undefined,
): AccountBalance {
  return {
    contract,
    ...(fundingAddress === undefined ? {} : { fundingAddress }),
    balance: account?.balance,
    reserved: gwei(account?.reserved ?? 0),
    readAt: account?.readAt,
  };
}
