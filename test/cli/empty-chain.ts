import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Wallet } from 'ethers';
import { createChains } from '../../adapters/chain/chains.js';
import { silentLogger } from '../../core/log.js';
import { noMetrics } from '../../core/metrics.js';
import { parseAddress, type Address } from '../../core/units/address.js';
import { systemClock } from '../../core/units/time.js';
import { parseEther } from '../../core/units/wei.js';
import { startAnvil } from '../../standalone/dev-chain/anvil.js';
import { readOwnArtifact } from '../../standalone/dev-chain/artifacts.js';
import { deployCanonical } from '../../standalone/dev-chain/canonical.js';
import { devAccounts } from '../../standalone/dev-chain/dev-accounts.js';
import { describeDevChain } from '../../standalone/dev-chain/deployments.js';
import {
  create2Address,
  createTransactor,
  deployOnce,
  deterministicDeployer,
} from '../../standalone/dev-chain/transactor.js';
import type { DevChain } from '../chain/support/dev-chain.js';
import { paymaster } from '../support/paymaster.js';
import { newWallet } from '../support/new-wallet.js';

export const emptyChainId = 4242;

/** A chain with the EntryPoints, their account factories and a contract to call, and no paymaster contract. */
export type EmptyChain = DevChain & {
  /** Somebody with one funded key. */
  readonly stranger: Wallet;
  readonly keyFile: string;
  /** `paymaster contract VERB …` on this chain. */
  run(args: readonly string[], env?: Readonly<Record<string, string>>): ReturnType<typeof paymaster>;
  readonly env: Readonly<Record<string, string>>;
  nonce(account?: string): Promise<number>;
};

export async function startEmptyChain({
  hasDeployer,
}: {
  readonly hasDeployer: boolean;
}): Promise<EmptyChain> {
  const anvil = await startAnvil({ log: silentLogger, chainId: emptyChainId });
  const folder = mkdtempSync(join(tmpdir(), 'contract-'));
  const ambient = { log: silentLogger, clock: systemClock, metrics: noMetrics };
  const chains = createChains({ ...ambient, timeoutMs: 20_000 });
  const chain = chains.get({ chainId: emptyChainId, rpc: { urls: [anvil.url] } });
  const transactor = createTransactor(chain, devAccounts.deployer.privateKey);
  await deployCanonical(chain, transactor, () => {});
  const initCode = readOwnArtifact('Counter').bytecode;
  await deployOnce(chain, transactor, { name: 'Counter', initCode, address: create2Address(initCode) });
  if (!hasDeployer) await chain.request('anvil_setCode', [deterministicDeployer, '0x']);

  const [stranger, sponsorSigner] = [newWallet(), newWallet()];
  const setBalance = async (account: string, wei: bigint) => {
    await chain.request('anvil_setBalance', [account, `0x${wei.toString(16)}`]);
  };
  await setBalance(stranger.address, parseEther('5'));
  const keyFile = join(folder, 'key');
  writeFileSync(keyFile, stranger.privateKey, { mode: 0o600 });
  const env = { PAYMASTER_RPC_URL: anvil.url, XDG_STATE_HOME: folder };
  return {
    url: anvil.url,
    chainId: emptyChainId,
    chains,
    chain,
    deployments: describeDevChain(
      emptyChainId,
      parseAddress(sponsorSigner.address),
      parseAddress(stranger.address),
    ),
    sponsorSigner,
    transactor,
    profile: () => {
      throw new Error('an empty chain has no profiles');
    },
    time: async () => (await chain.block('latest'))?.timestamp ?? 0,
    setBalance: (account: Address | `0x${string}`, wei) => setBalance(account, wei),
    stranger,
    keyFile,
    env,
    run: (args, more = {}) => paymaster(['contract', ...args], { ...env, ...more }),
    nonce: async (account = stranger.address) =>
      Number(await chain.request('eth_getTransactionCount', [account, 'latest'])),
    async stop() {
      await chains.stop();
      await anvil.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
