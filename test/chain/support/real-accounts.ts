import { createRequire } from 'node:module';
import { Implementation, toMetaMaskSmartAccount } from '@metamask/smart-accounts-kit';
import { deploySmartAccountsEnvironment } from '@metamask/smart-accounts-kit/utils';
import { toSafeSmartAccount } from 'permissionless/accounts';
import { createPublicClient, createWalletClient, http } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { foundry } from 'viem/chains';
import type { Hex } from '../../../core/units/hex.js';
import { withArguments } from '../../../standalone/dev-chain/canonical.js';
import { devAccounts } from '../../../standalone/dev-chain/dev-accounts.js';
import { create2Address, deployOnce } from '../../../standalone/dev-chain/transactor.js';
import type { TestAccount } from './account.js';
import type { DevChain } from './dev-chain.js';
import { ofViem } from './permissionless-account.js';

// Accounts of other people, from the code in their packages, on EntryPoint 0.7.

const version = '0.7';

/** Safe 1.4.1 by address, the same on every chain. */
const safe: Readonly<Record<string, string>> = {
  '0x41675C099F32341bf84BFc5382aF534df5C7461a': 'Safe.sol/Safe',
  '0x4e1DCf7AD4e460CfD30791CCC4F9c8a4f820ec67': 'proxies/SafeProxyFactory.sol/SafeProxyFactory',
  '0x38869bf66a61cF6bDB996A6aE40D5853Fd43B526': 'libraries/MultiSend.sol/MultiSend',
  '0x9641d764fc13c8B624c04430C7356C1C7C8102e2': 'libraries/MultiSendCallOnly.sol/MultiSendCallOnly',
};

/** Puts Safe 1.4.1 and its ERC-4337 module 0.3.0 where they are on every chain. */
export async function deploySafes({ chain, deployments, transactor }: DevChain): Promise<void> {
  for (const [address, path] of Object.entries(safe)) {
    const { deployedBytecode } = artifact(`safe-contracts/build/artifacts/contracts/${path}`);
    await chain.request('anvil_setCode', [address, deployedBytecode]);
  }
  const module = (name: string) =>
    artifact(`safe-4337/build/artifacts/contracts/${name}.sol/${name}`).bytecode;
  const entryPoint = deployments.entryPoints[version];
  for (const initCode of [
    module('SafeModuleSetup'),
    withArguments(module('Safe4337Module'), ['address'], [entryPoint]),
  ]) {
    const address = create2Address(initCode);
    await deployOnce(chain, transactor, { name: address, address, initCode });
  }
}

export async function buildSafeAccount(devChain: DevChain): Promise<TestAccount> {
  const account = await toSafeSmartAccount({
    client: createPublicClient({ transport: http(devChain.url) }),
    owners: [privateKeyToAccount(generatePrivateKey())],
    version: '1.4.1',
    entryPoint: { address: devChain.deployments.entryPoints[version], version },
  });
  return ofViem(account, version);
}

type MetaMask = Awaited<ReturnType<typeof deploySmartAccountsEnvironment>>;

export function deployMetaMask(devChain: DevChain): Promise<MetaMask> {
  const transport = http(devChain.url);
  const chain = { ...foundry, id: devChain.chainId };
  const account = privateKeyToAccount(devAccounts.deployer.privateKey as `0x${string}`);
  const wallet = createWalletClient({ account, chain, transport });
  return deploySmartAccountsEnvironment(wallet, createPublicClient({ chain, transport }), chain, {
    EntryPoint: devChain.deployments.entryPoints[version],
  });
}

export async function buildMetaMaskAccount(devChain: DevChain, environment: MetaMask): Promise<TestAccount> {
  const owner = privateKeyToAccount(generatePrivateKey());
  const account = await toMetaMaskSmartAccount({
    client: createPublicClient({
      chain: { ...foundry, id: devChain.chainId },
      transport: http(devChain.url),
    }),
    implementation: Implementation.Hybrid,
    deployParams: [owner.address, [], [], []],
    deploySalt: '0x',
    signer: { account: owner },
    environment,
  });
  return ofViem(account, version);
}

function artifact(path: string): { readonly bytecode: Hex; readonly deployedBytecode: Hex } {
  return createRequire(import.meta.url)(`@safe-global/${path}.json`);
}
