import type { AddressKey } from '../../core/units/address.js';
import type { ServedPaymaster } from './served-paymaster.js';

/** Which funding wallets the paymasters of a chain draw on, kept as paymasters come and go. */
export type FundingCensus = {
  add(paymaster: ServedPaymaster): void;
  remove(paymaster: ServedPaymaster): void;
  /** Wallets of the paymasters of a chain with how many draw on each, by version; those without one of their own are not named. */
  wallets(chainId: number): ReadonlyMap<string, ReadonlyMap<AddressKey, number>>;
};

export function createFundingCensus(): FundingCensus {
  const byVersion = new Map<number, Map<string, Map<AddressKey, number>>>();

  function change({ fundingAddress: wallet, chainId, version }: ServedPaymaster, by: number): void {
    if (wallet === undefined) return;
    const versions = byVersion.get(chainId) ?? new Map<string, Map<AddressKey, number>>();
    const wallets = versions.get(version) ?? new Map<AddressKey, number>();
    byVersion.set(chainId, versions);
    versions.set(version, wallets);
    const next = (wallets.get(wallet) ?? 0) + by;
    if (next === 0) wallets.delete(wallet);
    else wallets.set(wallet, next);
  }

  return {
    add: (paymaster) => change(paymaster, 1),
    remove: (paymaster) => change(paymaster, -1),
    wallets: (chainId) => byVersion.get(chainId) ?? new Map<string, Map<AddressKey, number>>(),
  };
}
