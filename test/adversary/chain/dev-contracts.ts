import { toAddressKey } from '../../../core/units/address.js';
import type { DevChain } from '../../chain/support/dev-chain.js';
import type { TestProfile } from '../../chain/support/user-op.js';
import { layoutKinds } from './layout-kinds.js';
import { ModelChain } from './model-chain.js';
import type { ContractSpec } from './operations.js';
import { PairedChain } from './paired-chain.js';
import { RealChain } from './real-chain.js';
import type { AddressKey } from '../../../core/units/address.js';

export type DevContract = ContractSpec & { readonly profile: TestProfile };

/** The facts about a dev chain's contracts that the model needs: one contract for each layout, and `others` that a test deployed. */
export function contractsOf(
  { deployments }: DevChain,
  others: readonly TestProfile[] = [],
): readonly DevContract[] {
  const profiles = deployments.profiles.filter(({ version }) => version !== '1.0.0');
  return [...profiles, ...others].map((profile) => ({
    profile,
    address: toAddressKey(profile.sponsorship),
    entryPoint: toAddressKey(profile.entryPoint),
    version: profile.entryPointVersion,
    ...layoutKinds[profile.layout],
    tokenAccount: toAddressKey(deployments.treasury),
  }));
}

/** A dev chain, and a model that starts with the same balances. */
export async function pairedChain(
  dev: DevChain,
  contracts: readonly DevContract[],
  senders: readonly AddressKey[],
  otherWallets: readonly AddressKey[] = [],
): Promise<PairedChain> {
  const time = await dev.time();
  const model = new ModelChain({
    chainId: dev.chainId,
    contracts,
    token: toAddressKey(dev.deployments.feeToken.address),
    time,
  });
  const real = new RealChain(dev, model.contracts);
  await real.open(senders, otherWallets);
  const nothing = { gasUsed: () => 0n, charge: () => 0n, premium: () => 0n, tokensDue: () => 0n };
  for (const { address, kind } of contracts) {
    const wallets =
      kind === 'hybrid' ? [dev.deployments.defaultFunding, dev.deployments.treasury].map(toAddressKey) : [];
    const [deposit = 0n] = await real.read(address, address, senders[0]!, 0n);
    let rest = deposit;
    for (const wallet of wallets) {
      const [, amount = 0n] = await real.read(address, wallet, senders[0]!, 0n);
      model.mine({ do: 'deposit', contract: address, wallet, amount }, time, nothing);
      rest -= amount;
    }
    model.mine({ do: 'deposit', contract: address, amount: rest }, time, nothing);
  }
  return new PairedChain(real, model);
}
