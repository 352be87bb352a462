import type { AddressKey } from '../../core/units/address.js';
import type { ServedPaymaster, WalletCount } from './served-paymaster.js';

/** Who draws on which funding wallet, kept as paymasters come and go. */
export type FundingCensus = {
  add(paymaster: ServedPaymaster): void;
  remove(paymaster: ServedPaymaster): void;
  sharesChain(chainId: number): boolean;
  /**
   * True when several paymasters draw on this wallet. Chains are not told apart: a wallet used on two is counted as
   * shared, which is safe. Whoever has no wallet of its own uses some profile's default, one of `defaults`, which may be
   * this very one.
   */
  sharesFunding(paymaster: ServedPaymaster, funding: AddressKey, defaults: ReadonlySet<AddressKey>): boolean;
  /** Wallets of the paymasters of a chain, by version; those without one of their own are not named. */
  wallets(chainId: number): ReadonlyMap<string, ReadonlyMap<Wallet, number>>;
};

export type Wallet = AddressKey | 'default';

/** Of every wallet that has one paymaster. */
const alone: WalletCount = Object.freeze({ paymasters: 1 });

export function createFundingCensus(): FundingCensus {
  // The paymaster itself where it is the only one.
  const byWallet = new Map<Wallet, ServedPaymaster | WalletCount>();
  const byChain = new Map<number, number>();
  const byVersion = new Map<number, Map<string, Map<Wallet, number>>>();

  function draw(paymaster: ServedPaymaster): void {
    const wallet = paymaster.fundingAddress ?? 'default';
    const present = byWallet.get(wallet);
    if (present === undefined) {
      byWallet.set(wallet, paymaster);
      paymaster.standing.wallet = alone;
      return;
    }
    const count = 'paymasters' in present ? present : { paymasters: 1 };
    if (!('paymasters' in present)) present.standing.wallet = count;
    count.paymasters += 1;
    paymaster.standing.wallet = count;
    byWallet.set(wallet, count);
  }

  function withdraw({ fundingAddress, standing }: ServedPaymaster): void {
    const wallet = fundingAddress ?? 'default';
    const present = byWallet.get(wallet);
    standing.wallet = undefined;
    if (present !== undefined && 'paymasters' in present && present.paymasters > 1) present.paymasters -= 1;
    else byWallet.delete(wallet);
  }

  function countOf(wallet: Wallet): number {
    const present = byWallet.get(wallet);
    if (present === undefined) return 0;
    return 'paymasters' in present ? present.paymasters : 1;
  }

  function change({ fundingAddress, chainId, version }: ServedPaymaster, by: number): void {
    const wallet = fundingAddress ?? 'default';
    bump(byChain, chainId, by);
    const versions = byVersion.get(chainId) ?? new Map<string, Map<Wallet, number>>();
    const wallets = versions.get(version) ?? new Map<Wallet, number>();
    byVersion.set(chainId, versions);
    versions.set(version, wallets);
    bump(wallets, wallet, by);
  }

  return {
    add(paymaster) {
      draw(paymaster);
      change(paymaster, 1);
    },
    remove(paymaster) {
      withdraw(paymaster);
      change(paymaster, -1);
    },
    sharesChain: (chainId) => (byChain.get(chainId) ?? 0) > 1,
    sharesFunding({ fundingAddress, standing }, funding, defaults) {
      const own = fundingAddress === funding ? standing.wallet?.paymasters : undefined;
      const isDefault = defaults.size > 0 && defaults.has(funding);
      return (own ?? countOf(funding)) + (isDefault ? countOf('default') : 0) > 1;
    },
    wallets: (chainId) => byVersion.get(chainId) ?? new Map<string, Map<Wallet, number>>(),
  };
}

function bump<K>(counts: Map<K, number>, key: K, by: number): void {
  const next = (counts.get(key) ?? 0) + by;
  if (next === 0) counts.delete(key);
  else counts.set(key, next);
}
