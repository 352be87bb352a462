import { toAddressKey } from '../../../core/units/address.js';
import type { DevChain } from '../../chain/support/dev-chain.js';
import type { DevProfile } from '../../../standalone/dev-chain/paymaster-contracts.js';
import { ModelChain } from './model-chain.js';
import type { ContractSpec } from './operations.js';
import { PairedChain } from './paired-chain.js';
import { RealChain } from './real-chain.js';
import type { AddressKey } from '../../../core/units/address.js';

/** The facts about a dev chain's contracts that the model needs: one contract for each layout. */
export function contractsOf({
  deployments,
}: DevChain): readonly (ContractSpec & { readonly profile: DevProfile })[] {
  return deployments.profiles
    .filter(({ version }) => version !== '1.0.0')
    .map((profile) => ({
      profile,
      address: toAddressKey(profile.sponsorship),
      entryPoint: toAddressKey(profile.entryPoint),
      version: profile.entryPointVersion,
      kind: profile.layout.startsWith('vendor') ? ('hybrid' as const) : ('plain' as const),
      tokenAccount: toAddressKey(deployments.treasury),
    }));
}

/** A dev chain, and a model that starts with the same balances. */
export async function pairedChain(
  dev: DevChain,
  senders: readonly AddressKey[],
  otherWallets: readonly AddressKey[] = [],
): Promise<PairedChain> {
  const contracts = contractsOf(dev);
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
