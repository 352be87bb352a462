import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createSmartAccountClient } from 'permissionless';
import { toSimpleSmartAccount } from 'permissionless/accounts';
import { createPimlicoClient } from 'permissionless/clients/pimlico';
import { createPublicClient, encodeFunctionData, erc20Abi, http } from 'viem';
import { createPaymasterClient } from 'viem/account-abstraction';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { foundry } from 'viem/chains';
import { startBundledService } from '../../processes.mjs';
import { increment, mint, newPaymaster } from '../../wallets.mjs';

// permissionless as its documentation shows it: a smart account client whose paymaster is a pimlico client, both of one URL. It offers accounts on EntryPoint 0.6 to 0.8.

const offered = ['0.6', '0.7', '0.8'];
const fees = { maxFeePerGas: 3_000_000_000n, maxPriorityFeePerGas: 1_000_000_000n };
const plenty = 10n ** 12n;
let running;
let facts;
let client;
let versions;
before(async () => {
  running = await startBundledService();
  facts = running.facts;
  versions = facts.versions.filter(({ entryPointVersion }) => offered.includes(entryPointVersion));
  client = createPublicClient({ chain: foundry, transport: http(facts.chainRpcUrl), pollingInterval: 100 });
});
after(() => running?.stop());

test('a smart account client with a pimlico client as its paymaster', async (t) => {
  for (const profile of versions)
    await t.test(nameOf(profile), async () => {
      const wallet = await open(profile, (rpcUrl, entryPoint) =>
        createPimlicoClient({ transport: http(rpcUrl), entryPoint }),
      );
      for (let round = 0; round < 2; round += 1) await send(wallet, [increment(facts)]);
    });
});

test('its sponsorUserOperation as the paymaster', async (t) => {
  for (const profile of versions)
    await t.test(nameOf(profile), async () => {
      const wallet = await open(profile, (rpcUrl, entryPoint) => {
        const pimlico = createPimlicoClient({ transport: http(rpcUrl), entryPoint });
        return {
          getPaymasterData: ({ chainId: _id, entryPointAddress: _at, context: _context, ...userOperation }) =>
            pimlico.sponsorUserOperation({ userOperation }),
        };
      });
      await send(wallet, [increment(facts)]);
    });
});

test('a token in the context: approved and paid in the same operation', async (t) => {
  for (const profile of versions.filter(({ tokenPaymasterAddress }) => tokenPaymasterAddress))
    await t.test(nameOf(profile), async () => {
      const token = facts.feeToken.address;
      const toPaymaster = (rpcUrl) => createPaymasterClient({ transport: http(rpcUrl) });
      const wallet = await open(profile, toPaymaster, { token });
      await mint(client, facts, wallet.account.address, plenty);
      const args = [profile.tokenPaymasterAddress, plenty];
      const approve = {
        to: token,
        data: encodeFunctionData({ abi: erc20Abi, functionName: 'approve', args }),
      };
      await send(wallet, [approve, increment(facts)]);
      const { address } = wallet.account;
      const balance = { address: token, abi: erc20Abi, functionName: 'balanceOf', args: [address] };
      assert.ok((await client.readContract(balance)) < plenty);
    });
});

function nameOf({ version, entryPointVersion }) {
  return `version ${version}, EntryPoint ${entryPointVersion}`;
}

async function open(profile, toPaymaster, paymasterContext) {
  const entryPoint = { address: profile.entryPoint, version: profile.entryPointVersion };
  const owner = privateKeyToAccount(generatePrivateKey());
  const rpcUrl = await newPaymaster(facts, profile.version);
  return createSmartAccountClient({
    account: await toSimpleSmartAccount({ client, owner, entryPoint }),
    client,
    chain: foundry,
    bundlerTransport: http(rpcUrl),
    pollingInterval: 100,
    paymaster: toPaymaster(rpcUrl, entryPoint),
    ...(paymasterContext === undefined ? {} : { paymasterContext }),
    // A bundler's own price follows what the last operations paid, which grows without end on a chain that only tests use.
    userOperation: { estimateFeesPerGas: async () => fees },
  });
}

async function send(wallet, calls) {
  const hash = await wallet.sendUserOperation({ calls });
  assert.equal((await wallet.waitForUserOperationReceipt({ hash, timeout: 60_000 })).success, true);
}
