import { Wallet } from 'ethers';
import { createChains } from '../../../adapters/chain/chains.js';
import { silentLogger } from '../../../core/log.js';
import { noMetrics } from '../../../core/metrics.js';
import { systemClock } from '../../../core/units/time.js';
import { describeDevChain } from '../../../standalone/dev-chain/deployments.js';
import { devAccounts } from '../../../standalone/dev-chain/dev-accounts.js';
import { createTransactor } from '../../../standalone/dev-chain/transactor.js';
import type { DevChain } from '../../chain/support/dev-chain.js';

/** The dev chain of a running instance, for the helpers of the chain tests. `stop` only closes our connections to it. */
export function attachDevChain(url: string, chainId: number): DevChain {
  const chains = createChains({
    log: silentLogger,
    clock: systemClock,
    metrics: noMetrics,
    timeoutMs: 20_000,
  });
  const chain = chains.get({ chainId, rpc: { urls: [url] } });
  const deployments = describeDevChain(chainId, devAccounts.signer.address, devAccounts.deployer.address);
  return {
    url,
    chainId,
    chains,
    chain,
    deployments,
    sponsorSigner: new Wallet(devAccounts.signer.privateKey),
    transactor: createTransactor(chain, devAccounts.deployer.privateKey),
    profile(version) {
      const profile = deployments.profiles.find((candidate) => candidate.version === version);
      if (profile === undefined) throw new Error(`no profile ${version}`);
      return profile;
    },
    time: async () => (await chain.block('latest'))?.timestamp ?? 0,
    setBalance: async (account, wei) => {
      await chain.request('anvil_setBalance', [account, `0x${wei.toString(16)}`]);
    },
    stop: () => chains.stop(),
  };
}
