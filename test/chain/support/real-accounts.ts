import { createRequire } from 'node:module';
import { Implementation, toMetaMaskSmartAccount } from '@metamask/smart-accounts-kit';
import { deploySmartAccountsEnvironment } from '@metamask/smart-accounts-kit/utils';
import { Interface } from 'ethers';
import { toSafeSmartAccount } from 'permissionless/accounts';
import { createPublicClient, createWalletClient, http } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { foundry } from 'viem/chains';
import { toAddressKey } from '../../../core/units/address.js';
import type { Hex } from '../../../core/units/hex.js';
import { kernelMultiSend } from '../../../core/userop/account-functions.js';
import { withArguments } from '../../../standalone/dev-chain/canonical.js';
import { devAccounts } from '../../../standalone/dev-chain/dev-accounts.js';
import { create2Address, deployOnce } from '../../../standalone/dev-chain/transactor.js';
import { asHex, encodeWith, type Call, type TestAccount } from './account.js';
import type { DevChain } from './dev-chain.js';
import { ofViem } from './permissionless-account.js';
import { compileSolidity } from './solidity.js';

// Accounts of other people, from the code in their packages, on EntryPoint 0.7.

const version = '0.7';

/** Safe 1.4.1 by address, the same on every chain. */
const safe: Readonly<Record<string, string>> = {
  '0x41675C099F32341bf84BFc5382aF534df5C7461a': 'Safe.sol/Safe',
  '0x4e1DCf7AD4e460CfD30791CCC4F9c8a4f820ec67': 'proxies/SafeProxyFactory.sol/SafeProxyFactory',
  '0x38869bf66a61cF6bDB996A6aE40D5853Fd43B526': 'libraries/MultiSend.sol/MultiSend',
  '0x9641d764fc13c8B624c04430C7356C1C7C8102e2': 'libraries/MultiSendCallOnly.sol/MultiSendCallOnly',
};

/** Enables modules of a new Safe on EntryPoint 0.6; the package has the same function for later EntryPoints. */
const moduleSetup06 = '0x8EcD4ec46D4D2a6B64fE960B3D64e8B94B2234eb';

/** Puts Safe 1.4.1 and its ERC-4337 module 0.3.0 where they are on every chain. */
export async function deploySafes({ chain, deployments, transactor }: DevChain): Promise<void> {
  const setup = 'safe-4337/build/artifacts/contracts/SafeModuleSetup.sol/SafeModuleSetup';
  const codes = Object.entries(safe).map(([address, path]): [string, Hex] => [
    address,
    artifact(`safe-contracts/build/artifacts/contracts/${path}`).deployedBytecode,
  ]);
  for (const each of [...codes, [moduleSetup06, artifact(setup).deployedBytecode]])
    await chain.request('anvil_setCode', each);
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

/** Safe's library at the address of Kernel's, whose code is the same but for its own address. */
export async function deployKernelMultiSend({ chain }: DevChain): Promise<void> {
  const { deployedBytecode } = artifact(
    'safe-contracts/build/artifacts/contracts/libraries/MultiSend.sol/MultiSend',
  );
  await chain.request('anvil_setCode', [kernelMultiSend, deployedBytecode]);
}

/** An address of a key, delegated to MetaMask's code by EIP-7702 already. */
export async function buildMetaMask7702(devChain: DevChain, environment: MetaMask): Promise<TestAccount> {
  const owner = privateKeyToAccount(generatePrivateKey());
  const delegate = environment.implementations['EIP7702StatelessDeleGatorImpl']!;
  await devChain.chain.request('anvil_setCode', [owner.address, `0xef0100${delegate.slice(2)}`]);
  const account = await toMetaMaskSmartAccount({
    client: createPublicClient({
      chain: { ...foundry, id: devChain.chainId },
      transport: http(devChain.url),
    }),
    implementation: Implementation.Stateless7702,
    address: owner.address,
    signer: { account: owner },
    environment,
  });
  return ofViem(account, version);
}

/** An account with the code of a contract of `ShapedAccounts.sol`, which exists already and accepts every signature. */
export async function buildShapedAccount(
  devChain: DevChain,
  contract: string,
  encodeCalls: (calls: readonly Call[]) => string,
): Promise<TestAccount> {
  const initCode = compileSolidity('ShapedAccounts.sol', ['solady', '@openzeppelin/contracts'])[contract]!;
  const address = create2Address(initCode);
  await deployOnce(devChain.chain, devChain.transactor, { name: contract, address, initCode });
  const nonces = new Interface(['function getNonce(address sender, uint192 key) view returns (uint256)']);
  const [, key = ''] = /^0x(.{8})/.exec(encodeCalls([{ to: address, data: '0x' }])) ?? [];
  return {
    builtBy: 'ethers',
    version,
    address: toAddressKey(address),
    encodeCalls: (calls) => Promise.resolve(asHex(encodeCalls(calls))),
    // Each form has its own sequence: several share the account of a contract.
    nonce: async () =>
      BigInt(
        await devChain.chain.call({
          to: devChain.deployments.entryPoints[version],
          data: encodeWith(nonces, 'getNonce', [address, `0x${key}`]),
        }),
      ),
    initCode: () => Promise.resolve('0x'),
    sign: () => Promise.resolve('0x'),
  };
}

function artifact(path: string): { readonly bytecode: Hex; readonly deployedBytecode: Hex } {
  return createRequire(import.meta.url)(`@safe-global/${path}.json`);
}
