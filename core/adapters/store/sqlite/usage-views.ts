import type { AccountBalance, AccountId, Reservation } from '../../../policy/usage-store.js';
import { gwei } from '../../../units/wei.js';
import type { Account, ChainBook, Entry } from './usage-books.js';
import { counterName } from './usage-counters.js';

/** What the port shows of the books. */
export function reservationOf(chainId: number, entry: Entry): Reservation {
  return {
    key: {
      chainId,
      paymasterId: entry.paymaster.name.text,
      entryPoint: entry.entryPoint.text,
      sender: entry.sender,
      nonce: entry.nonce,
    },
    contract: entry.contract.text,
    mode: entry.mode,
    fundingAddress: entry.funding?.text,
    validUntil: entry.validUntil,
    userOpHash: entry.userOpHash,
    limits: entry.counters.map((counter, i) => ({
      counter: counterName(counter),
      unit: counter.window.unit,
      cost: entry.costs[i]!,
    })),
    accounts: entry.accounts.map((account, i) => ({
      contract: account.contract.text,
      ...(account.funding === undefined ? {} : { fundingAddress: account.funding.text }),
      need: gwei(entry.needs[i]!),
    })),
  };
}

export function balanceOf(share: AccountId, account: Account | undefined): AccountBalance {
  return {
    contract: share.contract,
    ...(share.fundingAddress === undefined ? {} : { fundingAddress: share.fundingAddress }),
    balance: account?.balance,
    reserved: gwei(account?.reserved ?? 0),
    readAt: account?.readAt,
  };
}

export function findAccount(chain: ChainBook, share: AccountId): Account | undefined {
  return chain.accounts.get(share.contract)?.get(share.fundingAddress ?? '');
}
