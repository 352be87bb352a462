import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { after, before, test } from 'node:test';
import { createPublicClient, http } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { startBundledService } from './processes.mjs';
import { deploySafes } from './safes.mjs';
import { increment, newPaymaster, openChain } from './wallets.mjs';

// near-safe as its example shows it: paymaster and bundler have one address, which is Pimlico's in its code, so the client that asks it
// is replaced. The key is a local one: only NEAR's own network has the one that it signs with.

const require = createRequire(import.meta.url);
let running;
let facts;
let client;
before(async () => {
  running = await startBundledService();
  facts = running.facts;
  client = openChain(facts);
  // It reads the chain at the node of viem's list, when it is loaded.
  for (const chain of Object.values(require('viem/chains')))
    if (chain.id === facts.chainId) chain.rpcUrls.default.http = [facts.chainRpcUrl];
  await deploySafes(facts, client, profileOf('2.0.0').entryPoint);
});
after(() => running?.stop());

for (const version of ['verifying-0.7', 'singleton-0.7', '2.0.0'])
  test(`near-safe, version ${version}: the first operation, the next, and several calls at once`, async () => {
    const { chainId } = facts;
    const wallet = await open(await newPaymaster(facts, version));
    for (const calls of [1, 1, 3]) {
      const transactions = Array.from({ length: calls }, () => ({ ...increment(facts), value: '0' }));
      const request = { chainId, transactions, sponsorshipPolicy: 'sp_shiny_puma' };
      const unsigned = await wallet.buildTransaction(request);
      const signature = await wallet.signTransaction(await wallet.opHash(chainId, unsigned));
      const hash = await wallet.executeTransaction(chainId, { ...unsigned, signature });
      const { success } = await wallet.getOpReceipt(chainId, hash);
      assert.equal(success, true);
    }
  });

function profileOf(version) {
  return facts.versions.find((each) => each.version === version);
}

async function open(url) {
  const { NearSafe, SafeContractSuite } = require('near-safe');
  const owner = privateKeyToAccount(generatePrivateKey());
  const adapter = { address: owner.address, sign: (hash) => owner.sign({ hash }) };
  const contracts = new SafeContractSuite(facts.chainRpcUrl);
  const setup = contracts.getSetup([owner.address]);
  const address = await contracts.addressForSetup(setup, '0');
  const wallet = new NearSafe(adapter, contracts, 'no key of Pimlico', setup, address, '0');
  const pimlicoOf = wallet.bundlerForChainId.bind(wallet);
  wallet.bundlerForChainId = (chainId) =>
    Object.assign(pimlicoOf(chainId), { client: createPublicClient({ transport: http(url) }) });
  return wallet;
}
