import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createPimlicoClient } from 'permissionless/clients/pimlico';
import {
  createThirdwebClient,
  defineChain,
  prepareContractCall,
  prepareTransaction,
  readContract,
  sendBatchTransaction,
  sendTransaction,
} from 'thirdweb';
import { privateKeyToAccount, smartWallet } from 'thirdweb/wallets';
import { http, parseEventLogs } from 'viem';
import { entryPoint07Abi } from 'viem/account-abstraction';
import { generatePrivateKey } from 'viem/accounts';
import { startBundledService } from '../../processes.mjs';
import { increment, newPaymaster, openChain } from '../../wallets.mjs';
import { factories } from '../simple-account.mjs';

// thirdweb's smart wallet. Its paymaster's URL is thirdweb's in its code, so a function takes its place. No package has the contracts of
// its account, so SimpleAccount does, too, which has the same functions on EntryPoint 0.7.

const owned = '(address owner, uint256 salt)';
let running;
let facts;
before(async () => {
  running = await startBundledService();
  facts = running.facts;
});
after(() => running?.stop());

for (const version of ['2.0.0', 'singleton-0.7', 'verifying-0.7'])
  test(`sponsored, version ${version}: the first operation, the next, and several calls at once`, async () => {
    const { client, chain, account } = await open(version);
    const transaction = prepareTransaction({ client, chain, ...increment(facts), value: 0n });
    const sends = [
      () => sendTransaction({ account, transaction }),
      () => sendTransaction({ account, transaction }),
      () => sendBatchTransaction({ account, transactions: [transaction, transaction] }),
    ];
    for (const send of sends) {
      const { transactionHash } = await send();
      assert.equal(await countOf(transactionHash), 1);
    }
  });

/** Operations of the transaction that succeeded: a bundle is mined also where its operation fails. */
async function countOf(hash) {
  const { logs } = await openChain(facts).getTransactionReceipt({ hash });
  const events = parseEventLogs({ abi: entryPoint07Abi, eventName: 'UserOperationEvent', logs });
  return events.filter(({ args }) => args.success).length;
}

async function open(version) {
  const profile = facts.versions.find((each) => each.version === version);
  const entryPoint = { address: profile.entryPoint, version: profile.entryPointVersion };
  const url = await newPaymaster(facts, version);
  const pimlico = createPimlicoClient({ transport: http(url), entryPoint });
  const client = createThirdwebClient({ clientId: 'none' });
  const chain = defineChain({ id: facts.chainId, rpc: facts.chainRpcUrl });
  const wallet = smartWallet({
    chain,
    sponsorGas: true,
    factoryAddress: factories[profile.entryPointVersion],
    overrides: {
      bundlerUrl: url,
      // It asks twice where it does not read our limits, and keeps its bundler's in the second request.
      paymaster: (userOperation) =>
        pimlico.sponsorUserOperation({
          userOperation,
          paymasterContext: { calculateGasLimits: userOperation.verificationGasLimit === 0n },
        }),
      entrypointAddress: profile.entryPoint,
      createAccount: (contract, owner) =>
        prepareContractCall({ contract, method: `function createAccount${owned}`, params: [owner, 0n] }),
      predictAddress: (contract, owner) =>
        readContract({
          contract,
          method: `function getAddress${owned} view returns (address)`,
          params: [owner, 0n],
        }),
    },
  });
  const personalAccount = privateKeyToAccount({ client, privateKey: generatePrivateKey() });
  const account = await wallet.connect({ client, personalAccount });
  return { client, chain, account };
}
