import { gwei } from '../units/wei.js';
import { isEmptyAccount, type AccountRow, type RowSource } from './rows.js';
import type { AccountId } from './reservation.js';
import type { AccountBalance } from './reserve-request.js';

/** A turn's copy of an account. */
export type Account = { -readonly [K in keyof AccountRow]: AccountRow[K] } & { isChanged: boolean };

/** Accounts of a turn, copied when they are first looked up. */
export class Accounts {
  readonly #rows: Pick<RowSource, 'account'>;
  readonly #byName = new Map<string, Account>();
  readonly #changed: Account[] = [];

  constructor(rows: Pick<RowSource, 'account'>) {
    this.#rows = rows;
  }

  /** Undefined: nobody has read or promised anything of it. */
  find(id: AccountId): Account | undefined {
    const known = this.#byName.get(accountName(id));
    if (known !== undefined) return isEmptyAccount(known) ? undefined : known;
    const row = this.#rows.account(id);
    return row === undefined ? undefined : this.#keep({ ...row, isChanged: false });
  }

  of(id: AccountId): Account {
    const { contract, fundingAddress } = id;
    const known = this.#byName.get(accountName(id)) ?? this.find(id);
    return (
      known ??
      this.#keep({
        contract,
        ...(fundingAddress === undefined ? {} : { fundingAddress }),
        balance: undefined,
        readAt: undefined,
        reserved: 0,
        holders: 0,
        isChanged: false,
      })
    );
  }

  hold(account: Account, need: number): void {
    account.holders += 1;
    account.reserved += need;
    this.#note(account);
  }

  unhold(account: Account, need: number): void {
    account.holders -= 1;
    account.reserved -= need;
    this.#note(account);
  }

  /** Changes what one reservation needs. */
  raise(account: Account, by: number): void {
    account.reserved += by;
    this.#note(account);
  }

  setBalance(account: Account, balance: Account['balance'], readAt: Account['readAt']): void {
    account.balance = balance;
    account.readAt = readAt;
    this.#note(account);
  }

  changed(): readonly AccountRow[] {
    return this.#changed;
  }

  #note(account: Account): void {
    if (account.isChanged) return;
    account.isChanged = true;
    this.#changed.push(account);
  }

  #keep(account: Account): Account {
    this.#byName.set(accountName(account), account);
    return account;
  }
}

/** One text per account of a chain. */
export function accountName({ contract, fundingAddress }: AccountId): string {
  return fundingAddress === undefined ? contract : `${contract}/${fundingAddress}`;
}

/** What the port shows of an account. An unknown account has neither a balance nor promises. */
export function toAccountBalance(
  { contract, fundingAddress }: AccountId,
  account: AccountRow | undefined,
): AccountBalance {
  return {
    contract,
    ...(fundingAddress === undefined ? {} : { fundingAddress }),
    balance: account?.balance,
    reserved: gwei(account?.reserved ?? 0),
    readAt: account?.readAt,
  };
}
