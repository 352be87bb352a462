import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import * as viem from 'viem';
import * as accountAbstraction from 'viem/account-abstraction';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { foundry } from 'viem/chains';
import { startBundledService } from '../../processes.mjs';
import { increment, mint, newPaymaster } from '../../wallets.mjs';
import { toSimpleAccount } from '../simple-account.mjs';

// viem as its documentation shows it: a bundler client with a paymaster client, both of one URL, and a token in the context.

const { createPublicClient, encodeFunctionData, erc20Abi, http } = viem;
const { createBundlerClient, createPaymasterClient, toSimple7702SmartAccount } = accountAbstraction;
const fees = { maxFeePerGas: 3_000_000_000n, maxPriorityFeePerGas: 1_000_000_000n };
const plenty = 10n ** 12n;
let running;
let facts;
let client;
before(async () => {
  running = await startBundledService();
  facts = running.facts;
  client = createPublicClient({ chain: foundry, transport: http(facts.chainRpcUrl), pollingInterval: 100 });
});
after(() => running?.stop());

test('a bundler client with a paymaster client: sponsored, the account created by the first operation', async (t) => {
  for (const profile of facts.versions)
    await t.test(nameOf(profile), async () => {
      const wallet = await open(profile);
      for (const calls of [[increment(facts)], [increment(facts), increment(facts)]])
        assert.equal((await send(wallet, { calls })).success, true);
    });
});

test('a token in the context: approved and paid in the same operation', async (t) => {
  for (const profile of facts.versions.filter(({ tokenPaymasterAddress }) => tokenPaymasterAddress))
    await t.test(nameOf(profile), async () => {
      const token = facts.feeToken.address;
      const wallet = await open(profile, { paymasterContext: { token } });
      await mint(client, facts, wallet.account.address, plenty);
      const args = [profile.tokenPaymasterAddress, plenty];
      const approve = {
        to: token,
        data: encodeFunctionData({ abi: erc20Abi, functionName: 'approve', args }),
      };
      assert.equal((await send(wallet, { calls: [approve, increment(facts)] })).success, true);
      const { address } = wallet.account;
      const balance = { address: token, abi: erc20Abi, functionName: 'balanceOf', args: [address] };
      assert.ok((await client.readContract(balance)) < plenty);
    });
});

test('toSimple7702SmartAccount with the authorization of its first operation', async (t) => {
  for (const profile of facts.versions.filter(({ entryPointVersion }) => entryPointVersion === '0.8'))
    await t.test(nameOf(profile), async () => {
      const owner = privateKeyToAccount(generatePrivateKey());
      const account = await toSimple7702SmartAccount({ client, owner });
      const wallet = await open(profile, { account });
      const authorization = await owner.signAuthorization({
        ...account.authorization,
        chainId: foundry.id,
        nonce: 0,
      });
      assert.equal((await send(wallet, { calls: [increment(facts)], authorization })).success, true);
      assert.equal((await send(wallet, { calls: [increment(facts)] })).success, true);
    });
});

test('it drops our gas limits of an answer, also where the wallet asked for them', async () => {
  const profile = facts.versions.find(({ entryPointVersion }) => entryPointVersion === '0.7');
  const account = await accountOf(profile);
  const { factory, factoryData } = await account.getFactoryArgs();
  const paymaster = createPaymasterClient({ transport: http(await newPaymaster(facts, profile.version)) });
  const handedOn = await paymaster.getPaymasterData({
    sender: account.address,
    nonce: 0n,
    factory,
    factoryData,
    callData: await account.encodeCalls([increment(facts)]),
    ...fees,
    chainId: foundry.id,
    entryPointAddress: profile.entryPoint,
    context: { calculateGasLimits: true },
  });
  assert.deepEqual(Object.keys(handedOn).sort(), [
    'paymaster',
    'paymasterData',
    'paymasterPostOpGasLimit',
    'paymasterVerificationGasLimit',
  ]);
});

function nameOf({ version, entryPointVersion }) {
  return `version ${version}, EntryPoint ${entryPointVersion}`;
}

async function accountOf({ entryPoint: address, entryPointVersion: version }) {
  const owner = privateKeyToAccount(generatePrivateKey());
  return toSimpleAccount({ viem, accountAbstraction }, { client, owner, entryPoint: { address, version } });
}

async function open(profile, options = {}) {
  const rpcUrl = await newPaymaster(facts, profile.version);
  return createBundlerClient({
    account: options.account ?? (await accountOf(profile)),
    client,
    chain: foundry,
    transport: http(rpcUrl),
    pollingInterval: 100,
    paymaster: createPaymasterClient({ transport: http(rpcUrl) }),
    // Its own estimate doubles what the node suggests, and anvil suggests what the last operations paid.
    userOperation: { estimateFeesPerGas: async () => fees },
    ...options,
  });
}

async function send(wallet, operation) {
  const hash = await wallet.sendUserOperation(operation);
  return wallet.waitForUserOperationReceipt({ hash, timeout: 60_000 });
}
