import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { encodeFunctionData, erc20Abi, http } from 'viem';
import { foundry } from 'viem/chains';
import { startBundledService } from './processes.mjs';
import { emptyOfTokens, increment, mint, newAccount, newPaymaster, openChain } from './wallets.mjs';

// Startale's SDK with its own paymaster client and contexts, and one URL for all, also for fees (`rundler_maxPriorityFeePerGas`). No
// package has the contracts of its account, so SimpleAccount takes its place, as in the other SDKs.

const plenty = 10n ** 12n;
/** Of the token contracts of `make run`. */
const treasury = '0x90F79bf6EB2c4f870365E785982E1f101E93b906';

/** Tests of the SDK that a folder has installed. */
export function startaleTests({
  createSCSPaymasterClient,
  createSmartAccountClient,
  toSCSSponsoredPaymasterContext,
  toSCSTokenPaymasterContext,
}) {
  let running;
  let facts;
  let client;
  before(async () => {
    running = await startBundledService();
    facts = running.facts;
    client = openChain(facts);
  });
  after(() => running?.stop());

  const profileOf = (version) => facts.versions.find((each) => each.version === version);

  for (const version of ['verifying-0.7', 'singleton-0.7', '2.0.0'])
    test(`sponsored, version ${version}: the first operation, the next, and several calls at once`, async () => {
      const wallet = await open(version, toSCSSponsoredPaymasterContext({ paymasterId: 'pm_test' }));
      for (const calls of [1, 1, 3]) await send(wallet, Array(calls).fill(increment(facts)));
    });

  for (const version of ['singleton-0.7', '2.0.0'])
    test(`an operation that approves and pays in tokens, version ${version}`, async () => {
      const token = facts.feeToken.address;
      const wallet = await open(version, toSCSTokenPaymasterContext({ token }));
      const { address } = wallet.account;
      await mint(client, facts, address, plenty);
      // The first transfer to a treasury costs more than later ones.
      await emptyOfTokens(client, facts, treasury);
      const args = [profileOf(version).tokenPaymasterAddress, plenty];
      const approve = {
        to: token,
        data: encodeFunctionData({ abi: erc20Abi, functionName: 'approve', args }),
      };
      await send(wallet, [approve, increment(facts)]);
      const balance = { address: token, abi: erc20Abi, functionName: 'balanceOf', args: [address] };
      assert.ok((await client.readContract(balance)) < plenty);
    });

  async function open(version, paymasterContext) {
    const rpcUrl = await newPaymaster(facts, version);
    return createSmartAccountClient({
      account: await newAccount(client, profileOf(version)),
      client,
      // It reads the base fee at the node of the chain.
      chain: { ...foundry, rpcUrls: { default: { http: [facts.chainRpcUrl] } } },
      transport: http(rpcUrl),
      pollingInterval: 100,
      paymaster: createSCSPaymasterClient({ paymasterUrl: rpcUrl }),
      paymasterContext,
    });
  }

  async function send(wallet, calls) {
    const hash = await wallet.sendUserOperation({ calls });
    const { success } = await wallet.waitForUserOperationReceipt({ hash, timeout: 20_000 });
    assert.equal(success, true);
  }
}
