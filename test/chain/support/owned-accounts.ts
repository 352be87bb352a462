import { Interface, concat, getBytes } from 'ethers';
import { toLightSmartAccount, toNexusSmartAccount, toSafeSmartAccount } from 'permissionless/accounts';
import { createPublicClient, http } from 'viem';
import { toCoinbaseSmartAccount } from 'viem/account-abstraction';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { foundry } from 'viem/chains';
import { userOpHash } from '../../../core/entry-point/user-op-hash.js';
import { parseAddress, toAddressKey } from '../../../core/units/address.js';
import { create2Address, deployOnce } from '../../../standalone/dev-chain/transactor.js';
import { newWallet } from '../../support/new-wallet.js';
import { asHex, encodeCalls, encodeWith, type Call, type TestAccount } from './account.js';
import type { DevChain } from './dev-chain.js';
import { ofViem } from './permissionless-account.js';
import { compileSolidity } from './solidity.js';

// Accounts with the contracts of `OwnedAccounts.sol`, which are our own, in the shapes of other people's. Their libraries, as they
// are, make and sign the operations: each contract is where its library expects the account's.

const addresses = {
  LightFactory: '0x0000000000400CdFef5E2714E63d8040b700BC24',
  CoinbaseFactory: '0xba5ed110efdba3d005bfc882d75358acbbb85842',
  NexusFactory: '0x00000bb19a3579F4D779215dEf97AFbd0e30DB55',
  NexusValidator: '0x00000004171351c442B202678c48D8AB5B321E8f',
  ModularFactory: '0x00000000000017c61b5bEe81050EC8eFc9c6fecd',
  SafeModule06: '0xa581c4A4DB7175302464fF3C06380BC3270b4037',
  Safe7579Adapter: '0x7579EE8307284F293B1927136486880611F20002',
  Safe7579Launchpad: '0x7579011aB74c46090561ea277Ba79D510c6C00ff',
} as const;

/** The Safes need `deploySafes`, too. */
export async function deployOwnedAccounts({ chain, transactor }: DevChain): Promise<void> {
  const codes = compileSolidity('OwnedAccounts.sol', ['solady', '@openzeppelin/contracts']);
  for (const [contract, address] of Object.entries(addresses)) {
    const initCode = codes[contract]!;
    const made = create2Address(initCode);
    await deployOnce(chain, transactor, { name: contract, address: made, initCode });
    await chain.request('anvil_setCode', [address, await chain.code(made)]);
  }
}

/** By the name of the account whose shape it is; `version` is that of its EntryPoint. */
export const owned: Readonly<
  Record<string, { readonly version: '0.6' | '0.7'; build(devChain: DevChain): Promise<TestAccount> }>
> = {
  'Safe 1.4.1 on EntryPoint 0.6': {
    version: '0.6',
    build: async (devChain) =>
      ofViem(await toSafeSmartAccount({ ...common(devChain, '0.6'), version: '1.4.1' }), '0.6'),
  },
  Safe7579: {
    version: '0.7',
    build: async (devChain) => {
      const account = await toSafeSmartAccount({
        ...common(devChain, '0.7'),
        version: '1.4.1',
        safe4337ModuleAddress: addresses.Safe7579Adapter,
        erc7579LaunchpadAddress: addresses.Safe7579Launchpad,
        attesters: ['0x000000333034E9f539ce08819E12c1b8Cb29084d'],
        attestersThreshold: 1,
      });
      return ofViem(account, '0.7');
    },
  },
  'Light Account 2': {
    version: '0.7',
    build: async (devChain) => {
      const { owners, ...others } = common(devChain, '0.7');
      return ofViem(await toLightSmartAccount({ ...others, owner: owners[0], version: '2.0.0' }), '0.7');
    },
  },
  Nexus: {
    version: '0.7',
    build: async (devChain) =>
      ofViem(await toNexusSmartAccount({ ...common(devChain, '0.7'), version: '1.0.0' }), '0.7'),
  },
  'Coinbase Smart Wallet': {
    version: '0.6',
    build: async (devChain) => {
      const { client, owners } = common(devChain, '0.6');
      return ofViem(await toCoinbaseSmartAccount({ client, owners, version: '1.1' }), '0.6');
    },
  },
  'Modular Account v2': { version: '0.7', build: (devChain) => buildModular(devChain, false) },
  'Modular Account v2, with hooks': { version: '0.7', build: (devChain) => buildModular(devChain, true) },
};

/** With a new owner. */
function common<Version extends '0.6' | '0.7'>({ chainId, deployments, url }: DevChain, version: Version) {
  const chain = { ...foundry, id: chainId };
  return {
    client: createPublicClient({ chain, transport: http(url) }),
    owners: [privateKeyToAccount(generatePrivateKey())] as [ReturnType<typeof privateKeyToAccount>],
    entryPoint: { address: deployments.entryPoints[version], version },
  };
}

const modular = new Interface([
  'function createSemiModularAccount(address owner, uint256 salt) returns (address)',
  'function executeBatch((address target, uint256 value, bytes data)[] calls)',
]);
const entryPointAbi = new Interface([
  'function getNonce(address sender, uint192 key) view returns (uint256)',
]);

/** Whose library is too large to install. Where it has hooks, the EntryPoint passes it the whole operation. */
async function buildModular(devChain: DevChain, hasHooks: boolean): Promise<TestAccount> {
  const { chain, chainId, deployments } = devChain;
  const version = '0.7';
  const entryPoint = deployments.entryPoints[version];
  const owner = newWallet();
  const factoryData = encodeWith(modular, 'createSemiModularAccount', [owner.address, 0]);
  const answer = await chain.call({ to: addresses.ModularFactory, data: factoryData });
  const [address] = modular.decodeFunctionResult('createSemiModularAccount', answer);
  const inner = ([first, ...more]: readonly Call[]) =>
    more.length === 0
      ? encodeCalls(version, [first!])
      : encodeWith(modular, 'executeBatch', [
          [first!, ...more].map(({ to, value, data }) => [to, value ?? 0n, data]),
        ]);
  return {
    builtBy: 'ethers',
    version,
    address: toAddressKey(parseAddress(String(address))),
    encodeCalls: async (calls) => (hasHooks ? asHex(concat(['0x8dd7712f', inner(calls)])) : inner(calls)),
    nonce: async () =>
      BigInt(await chain.call({ to: entryPoint, data: encodeWith(entryPointAbi, 'getNonce', [address, 1]) })),
    initCode: async () =>
      (await chain.code(parseAddress(String(address)))) === '0x'
        ? asHex(concat([addresses.ModularFactory, factoryData]))
        : '0x',
    async sign(op, paymasterAndData) {
      const hash = userOpHash(op, paymasterAndData, { version, entryPoint, chainId });
      return asHex(concat(['0xff00', await owner.signMessage(getBytes(hash!))]));
    },
  };
}
