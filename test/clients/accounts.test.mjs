import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Implementation, toMetaMaskSmartAccount } from '@metamask/smart-accounts-kit';
import { deploySmartAccountsEnvironment } from '@metamask/smart-accounts-kit/utils';
import { createSmartAccountClient } from 'permissionless';
import { toSafeSmartAccount } from 'permissionless/accounts';
import { createPimlicoClient } from 'permissionless/clients/pimlico';
import { http } from 'viem';
import { createPaymasterClient } from 'viem/account-abstraction';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { foundry } from 'viem/chains';
import { startBundledService } from './processes.mjs';
import { deployerOf, deploySafes } from './safes.mjs';
import { increment, newPaymaster, openChain } from './wallets.mjs';

// Accounts of other people, by their own kits, at a paymaster with a registered contract: as a newcomer would use them.

let service;
let client;
let wallet;
before(async () => {
  service = await startBundledService();
  client = openChain(service.facts);
  wallet = deployerOf(service.facts);
});
after(() => service?.stop());

function profileOf(version) {
  return service.facts.versions.find((each) => each.version === version);
}

const accounts = {
  async 'Safe 1.4.1'() {
    await deploySafes(service.facts, client, profileOf('verifying-0.7').entryPoint);
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
            bundlerTransport: http(rpcUrl),
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
