import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { concat, createWalletClient, erc20Abi, http, parseEventLogs } from 'viem';
import { entryPoint06Abi } from 'viem/account-abstraction';
import { privateKeyToAccount } from 'viem/accounts';
import { foundry } from 'viem/chains';
import { startService } from './processes.mjs';
import { increment, mint, newAccount, openChain } from './wallets.mjs';

// The paymaster part of the vendor's SDK, as it is published. Its smart account is not on the dev chain, so another account of
// EntryPoint 0.6 builds the operations.

/** A development key of every anvil chain: mines the operations. */
const bundlerKey = '0x8b3a350cf5c34c9194ca85829a2df0ec3153be0318b5e2d3348e872092edffba';
const plenty = 10n ** 12n;
const fetchReally = globalThis.fetch;

let service;
let facts;
let client;
let paymaster;

/** @param sdk The module `@biconomy/account` of the folder under test. */
export function vendorPaymasterTests({ PaymasterMode, createPaymaster }) {
  before(async () => {
    service = await startService();
    facts = service.connection;
    client = openChain(facts);
    paymaster = await createPaymaster({ paymasterUrl: facts.rpcUrl });
    // The SDK downloads a catalogue of error texts before it throws; here the internet is missing.
    globalThis.fetch = (input, options) => {
      const { hostname } = new URL(input instanceof Request ? input.url : input);
      if (hostname === '127.0.0.1') return fetchReally(input, options);
      return Promise.resolve(new Response('[]', { headers: { 'content-type': 'application/json' } }));
    };
  });
  after(async () => {
    globalThis.fetch = fetchReally;
    await service?.stop();
  });

  describe('@biconomy/account', () => {
    test('a sponsored operation: limits and data come from our answer', async () => {
      const account = await newAccount(client, facts);
      const draft = await draftOf(account, [increment(facts)]);
      const answer = await paymaster.getPaymasterAndData(draft, { mode: PaymasterMode.SPONSORED });
      assert.equal((await mine(account, { ...draft, ...readLimits(answer) })).success, true);
    });

    test('what is not sponsored is 0x with limits, so that the user can pay', async () => {
      const account = await newAccount(client, facts);
      const elsewhere = { to: `0x${'12'.repeat(20)}`, data: '0x12345678' };
      const draft = await draftOf(account, [elsewhere]);
      const answer = await paymaster.getPaymasterAndData(draft, { mode: PaymasterMode.SPONSORED });
      assert.equal(answer.paymasterAndData, '0x');
      assert.ok(readLimits(answer).callGasLimit > 0n);
    });

    test('quotes, the approval that the SDK builds from one, and a payment in tokens', async () => {
      const account = await newAccount(client, facts);
      await mint(client, facts, account.address, plenty);
      const plain = await draftOf(account, [increment(facts)]);
      const quotes = await paymaster.getPaymasterFeeQuotesOrData(plain, {
        mode: PaymasterMode.ERC20,
        tokenInfo: { preferredToken: facts.feeToken.address, tokenList: [] },
      });
      const [feeQuote] = quotes.feeQuotes;
      assert.equal(feeQuote.tokenAddress, facts.feeToken.address);
      const approve = await paymaster.buildTokenApprovalTransaction({
        feeQuote,
        spender: quotes.tokenPaymasterAddress,
      });
      const approval = { to: approve.to, data: approve.data };
      const draft = await draftOf(account, [approval, increment(facts)]);
      const answer = await paymaster.getPaymasterAndData(draft, {
        mode: PaymasterMode.ERC20,
        feeTokenAddress: facts.feeToken.address,
      });
      assert.equal((await mine(account, { ...draft, ...readLimits(answer) })).success, true);
      const call = { address: facts.feeToken.address, abi: erc20Abi, functionName: 'balanceOf' };
      const paid = plenty - (await client.readContract({ ...call, args: [account.address] }));
      assert.ok(paid > 0n && Number(paid) <= feeQuote.maxGasFee * 10 ** feeQuote.decimal);
    });

    test('quotes for all tokens when none are named', async () => {
      const account = await newAccount(client, facts);
      const draft = await draftOf(account, [increment(facts)]);
      const options = { mode: PaymasterMode.ERC20, tokenInfo: { tokenList: [] } };
      const { feeQuotes } = await paymaster.getPaymasterFeeQuotesOrData(draft, options);
      assert.deepEqual(
        feeQuotes.map(({ symbol }) => symbol),
        [facts.feeToken.symbol],
      );
    });

    test('an account that cannot pay: our message reaches the caller', async () => {
      const account = await newAccount(client, facts);
      const draft = await draftOf(account, [increment(facts)]);
      const options = { mode: PaymasterMode.ERC20, feeTokenAddress: facts.feeToken.address };
      await assert.rejects(paymaster.getPaymasterAndData(draft, options), /too few tokens/);
    });
  });
}

async function draftOf(account, calls) {
  const { factory, factoryData } = await account.getFactoryArgs();
  return {
    sender: account.address,
    nonce: await account.getNonce(),
    initCode: factory === undefined ? '0x' : concat([factory, factoryData]),
    callData: await account.encodeCalls(calls),
    maxFeePerGas: 3_000_000_000n,
    maxPriorityFeePerGas: 1_000_000_000n,
    paymasterAndData: '0x',
    signature: await account.getStubSignature(),
  };
}

function readLimits({ paymasterAndData, ...limits }) {
  return {
    paymasterAndData,
    callGasLimit: BigInt(limits.callGasLimit),
    verificationGasLimit: BigInt(limits.verificationGasLimit),
    preVerificationGas: BigInt(limits.preVerificationGas),
  };
}

async function mine(account, operation) {
  const bundler = createWalletClient({
    chain: foundry,
    transport: http(facts.chainRpcUrl),
    account: privateKeyToAccount(bundlerKey),
  });
  const signed = { ...operation, signature: await account.signUserOperation(operation) };
  const { request } = await client.simulateContract({
    account: bundler.account,
    address: facts.entryPoint,
    abi: entryPoint06Abi,
    functionName: 'handleOps',
    args: [[signed], bundler.account.address],
  });
  const { logs } = await client.waitForTransactionReceipt({ hash: await bundler.writeContract(request) });
  const [event] = parseEventLogs({ abi: entryPoint06Abi, logs, eventName: 'UserOperationEvent' });
  return event.args;
}
