import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { connect, createConfig, mock, sendCalls, waitForCallsStatus } from '@wagmi/core';
import { encodeFunctionData, erc20Abi, http, numberToHex } from 'viem';
import { createBundlerClient, createPaymasterClient } from 'viem/account-abstraction';
import { foundry } from 'viem/chains';
import { startBundledService } from './processes.mjs';
import { emptyOfTokens, increment, mint, newAccount, newPaymaster, openChain } from './wallets.mjs';

// wagmi in the page: it names our URL as `paymasterService` of `wallet_sendCalls` (EIP-5792), and the wallet asks there (ERC-7677). Such wallets
// run in a browser or with other servers, so one is emulated with viem, which has another bundler's URL.

const fees = { maxFeePerGas: 3_000_000_000n, maxPriorityFeePerGas: 1_000_000_000n };
const plenty = 10n ** 12n;
/** Of the token contracts of `make run`. */
const treasury = '0x90F79bf6EB2c4f870365E785982E1f101E93b906';
const versions = ['1.1.0', '2.0.0', 'singleton-0.7', 'singleton-0.8', 'verifying-0.7', 'hybrid-0.9'];
/** Their contracts need more gas after the call than alto finds. */
const needsMore = ['2.0.0', 'hybrid-0.9'];
const takesLimits = (paymaster) => paymaster;
/** As the example of ERC-7677 has it, whose answer names no limits. */
const keepsLimits = ({ getPaymasterData, getPaymasterStubData }) => ({
  getPaymasterData,
  async getPaymasterStubData(operation) {
    const {
      paymasterVerificationGasLimit: _verification,
      paymasterPostOpGasLimit: _postOp,
      ...stub
    } = await getPaymasterStubData(operation);
    return stub;
  },
});
let running;
let facts;
let client;
before(async () => {
  running = await startBundledService();
  facts = running.facts;
  client = openChain(facts);
});
after(() => running?.stop());

describe('sendCalls with paymasterService', () => {
  for (const version of versions)
    test(`a wallet that takes the limits of our stub, version ${version}: the first operation, the next, and several calls at once`, async () => {
      const page = await open(version, takesLimits);
      for (const calls of [1, 1, 3]) await send(page, Array(calls).fill(increment(facts)));
    });

  for (const version of versions.filter((each) => !needsMore.includes(each)))
    test(`a wallet that keeps the limits of its bundler, version ${version}: the first operation, the next, and several calls at once`, async () => {
      const page = await open(version, keepsLimits);
      for (const calls of [1, 1, 3]) await send(page, Array(calls).fill(increment(facts)));
    });

  for (const version of needsMore)
    test(`a wallet that keeps the limits of its bundler, version ${version}: refused with the limit that it needs`, async () => {
      const page = await open(version, keepsLimits);
      const sent = send(page, [increment(facts)]);
      await assert.rejects(sent, /paymasterPostOpGasLimit must be from \d+ to \d+/);
    });

  for (const version of versions.filter((each) => each !== 'verifying-0.7'))
    test(`a token in the context, version ${version}: approved and paid in the same operation`, async () => {
      const page = await open(version, takesLimits);
      const { address } = page;
      const token = facts.feeToken.address;
      await mint(client, facts, address, plenty);
      // The first transfer to a treasury costs more than later ones.
      await emptyOfTokens(client, facts, treasury);
      const args = [profileOf(version).tokenPaymasterAddress, plenty];
      const data = encodeFunctionData({ abi: erc20Abi, functionName: 'approve', args });
      await send(page, [{ to: token, data }, increment(facts)], { token });
      const held = { address: token, abi: erc20Abi, functionName: 'balanceOf', args: [address] };
      assert.ok((await client.readContract(held)) < plenty);
    });

  test('the page reads why a call is not sponsored', async () => {
    const page = await open('2.0.0', takesLimits);
    const burn = { to: facts.sponsoredContract.address, data: '0x42966c68' };
    await assert.rejects(send(page, [burn]), ({ details }) => /0x42966c68|burn/.test(details));
  });
});

function profileOf(version) {
  return facts.versions.find((each) => each.version === version);
}

/** A page with a new paymaster, connected to a new wallet. */
async function open(version, readStub) {
  const account = await newAccount(client, profileOf(version));
  const provider = walletOf(account, readStub);
  // Its `injected` looks for a window.
  const wallet = (options) => ({
    ...mock({ accounts: [account.address] })(options),
    getProvider: async () => provider,
  });
  const config = createConfig({
    chains: [foundry],
    transports: { [foundry.id]: http(facts.chainRpcUrl) },
    connectors: [wallet],
    multiInjectedProviderDiscovery: false,
    storage: null,
  });
  const [connector] = config.connectors;
  await connect(config, { connector });
  return { config, address: account.address, url: await newPaymaster(facts, version) };
}

/** The methods of EIP-1193 and EIP-5792 that wagmi calls. */
function walletOf(account, readStub) {
  const bundlerOf = ({ url, context }) =>
    createBundlerClient({
      account,
      client,
      chain: foundry,
      transport: http(running.bundlerUrl),
      pollingInterval: 100,
      paymaster: readStub(createPaymasterClient({ transport: http(url) })),
      paymasterContext: context,
      userOperation: { estimateFeesPerGas: async () => fees },
    });
  const methods = {
    eth_accounts: () => [account.address],
    eth_requestAccounts: () => [account.address],
    eth_chainId: () => numberToHex(foundry.id),
    async wallet_sendCalls([{ calls, capabilities }]) {
      return { id: await bundlerOf(capabilities.paymasterService).sendUserOperation({ calls }) };
    },
    async wallet_getCallsStatus([id]) {
      const bundler = createBundlerClient({ client, transport: http(running.bundlerUrl) });
      const found = await bundler.request({ method: 'eth_getUserOperationReceipt', params: [id] });
      const about = { version: '2.0.0', id, chainId: numberToHex(foundry.id), atomic: true };
      if (found === null) return { ...about, status: 100 };
      return { ...about, status: found.success ? 200 : 500, receipts: [found.receipt] };
    },
  };
  return {
    on() {},
    removeListener() {},
    async request({ method, params }) {
      if (methods[method] === undefined) throw Object.assign(new Error(method), { code: 4200 });
      return methods[method](params);
    },
  };
}

async function send({ config, url }, calls, context) {
  const paymasterService = { url, ...(context === undefined ? {} : { context }) };
  const { id } = await sendCalls(config, { calls, capabilities: { paymasterService } });
  const { status } = await waitForCallsStatus(config, { id, pollingInterval: 100, timeout: 20_000 });
  assert.equal(status, 'success');
}
