import type { AddressKey } from '../../core/units/address.js';
import type { ServedPaymaster } from './served-paymaster.js';

/** Who draws on which funding wallet, kept as paymasters come and go. */
export type FundingCensus = {
  add(paymaster: ServedPaymaster): void;
  remove(paymaster: ServedPaymaster): void;
  sharesChain(chainId: number): boolean;
  /**
   * True when several paymasters draw on this wallet. Chains are not told apart: a wallet used on two is counted as
   * shared, which is safe. Whoever has no wallet of its own uses some profile's default, which may be this very one.
   */
  sharesFunding(funding: AddressKey, isDefault: boolean): boolean;
  /** Wallets of the paymasters of a chain, by version; those without one of their own are not named. */
  wallets(chainId: number): ReadonlyMap<string, ReadonlyMap<Wallet, number>>;
};

export type Wallet = AddressKey | 'default';

export function createFundingCensus(): FundingCensus {
  const byWallet = new Map<Wallet, number>();
  const byChain = new Map<number, number>();
  const byVersion = new Map<number, Map<string, Map<Wallet, number>>>();

  function change({ fundingAddress, chainId, version }: ServedPaymaster, by: number): void {
    const wallet = fundingAddress ?? 'default';
    bump(byWallet, wallet, by);
    bump(byChain, chainId, by);
    const versions = byVersion.get(chainId) ?? new Map<string, Map<Wallet, number>>();
    const wallets = versions.get(version) ?? new Map<Wallet, number>();
    byVersion.set(chainId, versions);
    versions.set(version, wallets);
    bump(wallets, wallet, by);
  }

  return {
    add: (paymaster) => change(paymaster, 1),
    remove: (paymaster) => change(paymaster, -1),
    sharesChain: (chainId) => (byChain.get(chainId) ?? 0) > 1,
    sharesFunding: (funding, isDefault) =>
      (byWallet.get(funding) ?? 0) + (isDefault ? (byWallet.get('default') ?? 0) : 0) > 1,
    wallets: (chainId) => byVersion.get(chainId) ?? new Map<string, Map<Wallet, number>>(),
  };
}

function bump<K>(counts: Map<K, number>, key: K, by: number): void {
  const next = (counts.get(key) ?? 0) + by;
  if (next === 0) counts.delete(key);
  else counts.set(key, next);
}
