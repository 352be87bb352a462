import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { encodeFunctionData, erc20Abi, http } from 'viem';
import { foundry } from 'viem/chains';
import { startBundledService } from './processes.mjs';
import { increment, mint, newAccount, newPaymaster, openChain } from './wallets.mjs';

// The vendor's SDK with its own paymaster client and contexts, which ask for our gas limits (`calculateGasLimits: true`) and call for
// data once, and one URL for all, also for fees (`biconomy_getGasFeeValues`). Its account is not on the dev chain, so SimpleAccount takes
// its place.

const plenty = 10n ** 12n;

/** Tests of the SDK that a folder has installed. */
export function abstractjsTests({
  createBicoPaymasterClient,
  createSmartAccountClient,
  toBiconomySponsoredPaymasterContext,
  toBiconomyTokenPaymasterContext,
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

  test('sponsored with its own context', async (t) => {
    for (const profile of facts.versions)
      await t.test(nameOf(profile), async () => {
        const wallet = await open(profile, toBiconomySponsoredPaymasterContext({}));
        for (let round = 0; round < 2; round += 1) await send(wallet, [increment(facts)]);
      });
  });

  test('quotes, and a payment in tokens with its own context', async (t) => {
    for (const profile of facts.versions.filter(({ tokenPaymasterAddress }) => tokenPaymasterAddress))
      await t.test(nameOf(profile), async () => {
        const token = facts.feeToken.address;
        const context = toBiconomyTokenPaymasterContext({ feeTokenAddress: token });
        const wallet = await open(profile, context);
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
        // Its quotes are for the operations of its account, on EntryPoint 0.7.
        if (profile.entryPointVersion === '0.6') return;
        const userOp = await wallet.prepareUserOperation({ calls: [increment(facts)] });
        const { feeQuotes } = await wallet.paymaster.getTokenPaymasterQuotes({ userOp, tokenList: [token] });
        assert.deepEqual(
          feeQuotes.map(({ symbol }) => symbol),
          [facts.feeToken.symbol],
        );
      });
  });

  function nameOf({ version, entryPointVersion }) {
    return `version ${version}, EntryPoint ${entryPointVersion}`;
  }

  async function open(profile, paymasterContext) {
    const rpcUrl = await newPaymaster(facts, profile.version);
    return createSmartAccountClient({
      account: await newAccount(client, profile),
      client,
      chain: foundry,
      transport: http(rpcUrl),
      pollingInterval: 100,
      paymaster: createBicoPaymasterClient({ paymasterUrl: rpcUrl }),
      paymasterContext,
    });
  }

  async function send(wallet, calls) {
    const hash = await wallet.sendUserOperation({ calls });
    assert.equal((await wallet.waitForUserOperationReceipt({ hash, timeout: 60_000 })).success, true);
  }
}
