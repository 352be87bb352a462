import { Wallet } from 'ethers';
import { createChains } from '../../../adapters/chain/chains.js';
import type { Chain, Chains } from '../../../core/chain/chain.js';
import { silentLogger } from '../../../core/log.js';
import { noMetrics } from '../../../core/metrics.js';
import { parseAddress, type Address } from '../../../core/units/address.js';
import type { Hex } from '../../../core/units/hex.js';
import { systemClock } from '../../../core/units/time.js';
import { startAnvil } from '../../../standalone/dev-chain/anvil.js';
import { devAccounts } from '../../../standalone/dev-chain/dev-accounts.js';
import { describeDevChain, type DevDeployments } from '../../../standalone/dev-chain/deployments.js';
import type { DevProfile } from '../../../standalone/dev-chain/paymaster-contracts.js';
import { createTransactor, type Transactor } from '../../../standalone/dev-chain/transactor.js';
import { deployedState, devChainId } from './deployed-state.js';

/** A running anvil with everything deployed. Start one per test file; always `stop` it. */
export type DevChain = {
  readonly url: string;
  readonly chainId: number;
  readonly chains: Chains;
  readonly chain: Chain;
  readonly deployments: DevDeployments;
  /** Key that every paymaster contract trusts. */
  readonly sponsorSigner: Wallet;
  /** Sends plain transactions; also the bundler of `handleOps`. */
  readonly transactor: Transactor;
  profile(version: string): DevProfile;
  /** Unix seconds of the newest block. */
  time(): Promise<number>;
  setBalance(account: Address | Hex, wei: bigint): Promise<void>;
  stop(): Promise<void>;
};

/** One profile of each layout. */
export const profileNames = [
  '1.1.0',
  '2.0.0',
  'singleton-0.6',
  'singleton-0.7',
  'singleton-0.8',
  'verifying-0.7',
  'verifying-0.9',
  'hybrid-0.9',
] as const;

/** Public key of anvil's third dev account: the signer of the vectors, too. */
export const sponsorSignerKey = '0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a';

export async function startDevChain(): Promise<DevChain> {
  const sponsorSigner = new Wallet(sponsorSignerKey);
  const signer = parseAddress(sponsorSigner.address);
  const anvil = await startAnvil({ log: silentLogger, beginFrom: await deployedState(signer) });
  const chains = createChains({
    log: silentLogger,
    clock: systemClock,
    metrics: noMetrics,
    // Bounds a hang: the largest receipts take a busy machine long.
    timeoutMs: 120_000,
  });
  try {
    const deployments = describeDevChain(devChainId, signer, devAccounts.deployer.address);
    const chain = chains.get({ chainId: deployments.chainId, rpc: { urls: [anvil.url] } });
    // The last block of the state may be days old.
    await chain.request('evm_mine', []);
    return {
      url: anvil.url,
      chainId: deployments.chainId,
      chains,
      chain,
      deployments,
      sponsorSigner,
      transactor: createTransactor(chain, devAccounts.deployer.privateKey),
      profile: (version) => profileOf(deployments, version),
      time: async () => (await chain.block('latest'))?.timestamp ?? 0,
      setBalance: async (account, wei) => {
        await chain.request('anvil_setBalance', [account, `0x${wei.toString(16)}`]);
      },
      async stop() {
        await chains.stop();
        await anvil.stop();
      },
    };
  } catch (error) {
    await chains.stop();
    await anvil.stop();
    throw error;
  }
}

function profileOf({ profiles }: DevDeployments, version: string): DevProfile {
  const profile = profiles.find((candidate) => candidate.version === version);
  if (profile === undefined) throw new Error(`the dev chain has no profile ${version}`);
  return profile;
}
