import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { after, before, describe, test } from 'node:test';
import { encodeFunctionData, erc20Abi } from 'viem';
import { startBundledService } from './processes.mjs';
import { increment, mint, newAccount, newPaymaster, openChain } from './wallets.mjs';

// ethers does not support user operations: a script builds them, and calls paymaster and bundler with a JsonRpcProvider each. The
// account's encoding and signature are permissionless', as for the other clients.

// The CommonJS build, as scripts of these years load it.
const { JsonRpcProvider, concat, toQuantity } = createRequire(import.meta.url)('ethers');

const plenty = 10n ** 12n;
let running;
let facts;
let client;
before(async () => {
  running = await startBundledService();
  facts = running.facts;
  client = openChain(facts);
});
after(() => running?.stop());

for (const version of ['1.1.0', 'singleton-0.7', 'singleton-0.8'])
  describe(`ethers through alto, version ${version}`, () => {
    test('quotes, approves what was quoted and pays, in the operation that creates the account', async () => {
      const profile = facts.versions.find((candidate) => candidate.version === version);
      const token = facts.feeToken.address;
      const paymaster = providerOf(await newPaymaster(facts, version));
      try {
        const account = await newAccount(client, profile);
        await mint(client, facts, account.address, plenty);
        const quotes = await paymaster.send('pm_getFeeQuoteOrData', [
          await draftOf(account, profile, [increment(facts)]),
          { mode: 'ERC20', tokenInfo: { preferredToken: token, tokenList: [] } },
        ]);
        const [{ maxGasFee, decimal }] = quotes.feeQuotes;
        const approved = BigInt(Math.ceil(maxGasFee * 10 ** decimal));
        const approve = {
          to: token,
          data: encodeFunctionData({
            abi: erc20Abi,
            functionName: 'approve',
            args: [quotes.paymasterAddress, approved],
          }),
        };
        const draft = await draftOf(account, profile, [approve, increment(facts)]);
        const answer = await paymaster.send('pm_sponsorUserOperation', [
          draft,
          { mode: 'ERC20', tokenInfo: { feeTokenAddress: token } },
        ]);
        const op = { ...draft, ...paymasterFields(answer, profile) };
        op.signature = await account.signUserOperation(withBigints(op));
        const hash = await paymaster.send('eth_sendUserOperation', [op, profile.entryPoint]);
        const receipt = await receiptOf(paymaster, hash);
        assert.equal(receipt.success, true);
        const call = { address: token, abi: erc20Abi, functionName: 'balanceOf', args: [account.address] };
        const paid = plenty - (await client.readContract(call));
        assert.ok(paid > 0n && paid <= approved, `paid ${paid} of ${approved}`);
      } finally {
        paymaster.destroy();
      }
    });
  });

function providerOf(url) {
  return new JsonRpcProvider(url, facts.chainId, { staticNetwork: true, batchMaxCount: 1 });
}

async function draftOf(account, { entryPointVersion }, calls) {
  const { factory, factoryData } = await account.getFactoryArgs();
  const creation =
    entryPointVersion === '0.6' ? { initCode: concat([factory, factoryData]) } : { factory, factoryData };
  return {
    sender: account.address,
    nonce: toQuantity(await account.getNonce()),
    ...creation,
    callData: await account.encodeCalls(calls),
    maxFeePerGas: toQuantity(3_000_000_000n),
    maxPriorityFeePerGas: toQuantity(1_000_000_000n),
    signature: await account.getStubSignature(),
  };
}

const quantities = [
  'callGasLimit',
  'verificationGasLimit',
  'preVerificationGas',
  'paymasterVerificationGasLimit',
  'paymasterPostOpGasLimit',
];

/** What was signed, in the hex that bundlers take. */
function paymasterFields(answer, { entryPointVersion }) {
  const names = entryPointVersion === '0.6' ? ['paymasterAndData'] : ['paymaster', 'paymasterData'];
  return Object.fromEntries([
    ...names.map((name) => [name, answer[name]]),
    ...quantities.filter((name) => name in answer).map((name) => [name, toQuantity(answer[name])]),
  ]);
}

function withBigints(op) {
  const numbers = ['nonce', 'maxFeePerGas', 'maxPriorityFeePerGas', ...quantities];
  return Object.fromEntries(
    Object.entries(op).map(([name, value]) => [name, numbers.includes(name) ? BigInt(value) : value]),
  );
}

async function receiptOf(provider, hash) {
  const deadline = Date.now() + 60_000;
  for (;;) {
    const receipt = await provider.send('eth_getUserOperationReceipt', [hash]);
    if (receipt !== null) return receipt;
    assert.ok(Date.now() < deadline, `${hash} was not mined`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
