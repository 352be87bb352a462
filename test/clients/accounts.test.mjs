import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { after, before, describe, test } from 'node:test';
import { Implementation, toMetaMaskSmartAccount } from '@metamask/smart-accounts-kit';
import { deploySmartAccountsEnvironment } from '@metamask/smart-accounts-kit/utils';
import { createSmartAccountClient } from 'permissionless';
import { toSafeSmartAccount } from 'permissionless/accounts';
import { createPimlicoClient } from 'permissionless/clients/pimlico';
import { createWalletClient, encodeAbiParameters, http } from 'viem';
import { createPaymasterClient } from 'viem/account-abstraction';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { foundry } from 'viem/chains';
import { startBundledService } from './processes.mjs';
import { increment, newPaymaster, openChain } from './wallets.mjs';

// Accounts of other people, by their own kits, at a paymaster with a registered contract: as a newcomer would use them.

const deployer = '0x2a871d0798f97d79848a013d4936a73bf4cc922c825d33c1cf7073dff6d409c6';
const deterministicDeployer = '0x4e59b44847b379578588920cA78FbF26c0B4956C';
/** Safe 1.4.1 by address, the same on every chain. */
const safe = {
  '0x41675C099F32341bf84BFc5382aF534df5C7461a': 'Safe.sol/Safe',
  '0x4e1DCf7AD4e460CfD30791CCC4F9c8a4f820ec67': 'proxies/SafeProxyFactory.sol/SafeProxyFactory',
  '0x9641d764fc13c8B624c04430C7356C1C7C8102e2': 'libraries/MultiSendCallOnly.sol/MultiSendCallOnly',
  '0x38869bf66a61cF6bDB996A6aE40D5853Fd43B526': 'libraries/MultiSend.sol/MultiSend',
};
const require = createRequire(import.meta.url);
const artifact = (path) => require(`@safe-global/${path}.json`);

let service;
let client;
let wallet;
before(async () => {
  service = await startBundledService();
  client = openChain(service.facts);
  const account = privateKeyToAccount(deployer);
  wallet = createWalletClient({ account, chain: foundry, transport: http(service.facts.chainRpcUrl) });
});
after(() => service?.stop());

async function deploySafes() {
  for (const [address, path] of Object.entries(safe)) {
    const { deployedBytecode } = artifact(`safe-contracts/build/artifacts/contracts/${path}`);
    await client.request({ method: 'anvil_setCode', params: [address, deployedBytecode] });
  }
  const { entryPoint } = profileOf('verifying-0.7');
  const module = (name) => artifact(`safe-4337/build/artifacts/contracts/${name}.sol/${name}`).bytecode;
  const argument = encodeAbiParameters([{ type: 'address' }], [entryPoint]).slice(2);
  for (const code of [module('SafeModuleSetup'), `${module('Safe4337Module')}${argument}`]) {
    const hash = await wallet.sendTransaction({
      to: deterministicDeployer,
      data: `0x${'00'.repeat(32)}${code.slice(2)}`,
    });
    await client.waitForTransactionReceipt({ hash });
  }
}

function profileOf(version) {
  return service.facts.versions.find((each) => each.version === version);
}

const accounts = {
  async 'Safe 1.4.1'() {
    await deploySafes();
    return () =>
      toSafeSmartAccount({
        client,
        owners: [privateKeyToAccount(generatePrivateKey())],
        version: '1.4.1',
        entryPoint: { address: profileOf('verifying-0.7').entryPoint, version: '0.7' },
      });
  },
  async 'MetaMask Hybrid'() {
    const { entryPoint } = profileOf('verifying-0.7');
    const known = { EntryPoint: entryPoint };
    const environment = await deploySmartAccountsEnvironment(wallet, client, foundry, known);
    return () => {
      const account = privateKeyToAccount(generatePrivateKey());
      return toMetaMaskSmartAccount({
        client,
        implementation: Implementation.Hybrid,
        deployParams: [account.address, [], [], []],
        deploySalt: '0x',
        signer: { account },
        environment,
      });
    };
  },
};

for (const [name, prepare] of Object.entries(accounts))
  describe(name, () => {
    let build;
    before(async () => {
      build = await prepare();
    });

    for (const version of ['verifying-0.7', '2.0.0'])
      for (const way of ['ERC-7677', "permissionless' sponsorUserOperation"])
        test(`${version}, ${way}: the first operation, the next, and several calls at once`, async () => {
          const rpcUrl = await newPaymaster(service.facts, version);
          const { entryPoint: address } = profileOf(version);
          const pimlico = createPimlicoClient({
            transport: http(rpcUrl),
            entryPoint: { address, version: '0.7' },
          });
          const paymaster =
            way === 'ERC-7677'
              ? createPaymasterClient({ transport: http(rpcUrl) })
              : {
                  getPaymasterData: ({
                    chainId: _chain,
                    entryPointAddress: _entryPoint,
                    context: _context,
                    ...userOperation
                  }) => pimlico.sponsorUserOperation({ userOperation }),
                };
          const smart = createSmartAccountClient({
            account: await build(),
            client,
            pollingInterval: 100,
            chain: foundry,
            bundlerTransport: http(service.bundlerUrl),
            paymaster,
          });
          for (const calls of [1, 1, 3]) {
            const hash = await smart.sendUserOperation({
              calls: Array.from({ length: calls }, () => increment(service.facts)),
            });
            const { success } = await smart.waitForUserOperationReceipt({ hash });
            assert.equal(success, true);
          }
        });
  });
