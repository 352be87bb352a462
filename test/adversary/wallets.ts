import type { AddressKey } from '../../core/units/address.js';
import { contracts, defaultWallet, ownWallet, treasury } from './world.js';

export const milli = 10n ** 15n;

/** A contract's deposit, or with a wallet its balance inside the contract. */
export type FundedAccount = {
  readonly contract: AddressKey;
  readonly wallet?: AddressKey;
  /** Wei at the beginning of a run. */
  readonly amount: bigint;
};

/** The accounts that pay for operations. */
export const wallets: readonly FundedAccount[] = [
  { contract: contracts.hybrid07, wallet: defaultWallet, amount: 120n * milli },
  { contract: contracts.hybrid07, wallet: ownWallet, amount: 30n * milli },
  { contract: contracts.hybrid07, wallet: treasury, amount: 80n * milli },
  { contract: contracts.plain07, amount: 120n * milli },
  { contract: contracts.plain08, amount: 120n * milli },
  { contract: contracts.hybrid06, wallet: defaultWallet, amount: 80n * milli },
  { contract: contracts.hybrid06, wallet: ownWallet, amount: 30n * milli },
  { contract: contracts.hybrid06, wallet: treasury, amount: 60n * milli },
  { contract: contracts.hybrid09, wallet: defaultWallet, amount: 80n * milli },
  { contract: contracts.hybrid09, wallet: ownWallet, amount: 30n * milli },
  { contract: contracts.hybrid09, wallet: treasury, amount: 60n * milli },
  { contract: contracts.verifying09, amount: 80n * milli },
  { contract: contracts.openZeppelin09, amount: 80n * milli },
];
