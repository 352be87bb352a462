import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { erc20Abi, http } from 'viem';
import { foundry } from 'viem/chains';
import { startBundledService } from './processes.mjs';
import { increment, mint, newAccount, newPaymaster, openChain } from './wallets.mjs';

// Clients that know methods of their own service alone: the URL is the one line that changes.

const fees = { maxFeePerGas: 3_000_000_000n, maxPriorityFeePerGas: 1_000_000_000n };
const plenty = 10n ** 12n;

/** Tests of the clients that a folder has installed: ZeroDev's, permissionless', or both. */
export function othersMethodsTests({
  createBundlerClient,
  createKernelAccountClient,
  createZeroDevPaymasterClient,
  createPimlicoClient,
  prepareUserOperationForErc20Paymaster,
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

  for (const version of ['1.1.0', '2.0.0', 'singleton-0.7', 'singleton-0.8'])
    describe(`version ${version}`, () => {
      let rpcUrl;
      let profile;
      let entryPoint;
      before(async () => {
        rpcUrl = await newPaymaster(facts, version);
        profile = facts.versions.find((candidate) => candidate.version === version);
        entryPoint = { address: profile.entryPoint, version: profile.entryPointVersion };
      });

      async function open(options) {
        const account = await newAccount(client, profile);
        const settings = {
          account,
          client,
          chain: foundry,
          transport: http(rpcUrl),
          pollingInterval: 100,
          // viem's own estimate doubles what the node suggests, and anvil suggests what the last operations paid.
          userOperation: { estimateFeesPerGas: async () => fees },
        };
        return createBundlerClient({ ...settings, ...options });
      }

      async function mined(wallet, options) {
        const hash = await wallet.sendUserOperation(options);
        return wallet.waitForUserOperationReceipt({ hash, timeout: 20_000 });
      }

      const held = (address) =>
        client.readContract({
          address: facts.feeToken.address,
          abi: erc20Abi,
          functionName: 'balanceOf',
          args: [address],
        });

      if (createZeroDevPaymasterClient !== undefined)
        test("ZeroDev's kernel client and paymaster client: zd_getUserOperationGasPrice, and zd_sponsorUserOperation without limits", async () => {
          const zeroDev = createZeroDevPaymasterClient({ chain: foundry, transport: http(rpcUrl) });
          const wallet = createKernelAccountClient({
            account: await newAccount(client, profile),
            client,
            chain: foundry,
            bundlerTransport: http(rpcUrl),
            pollingInterval: 100,
            paymaster: {
              getPaymasterData: (userOperation) => zeroDev.sponsorUserOperation({ userOperation }),
            },
          });
          for (let round = 0; round < 2; round += 1)
            assert.equal((await mined(wallet, { calls: [increment(facts)] })).success, true);
        });

      if (createPimlicoClient === undefined) return;
      test("permissionless' ERC-20 preparation: pimlico_getTokenQuotes, and an approval of what it computes", async () => {
        const pimlico = createPimlicoClient({ chain: foundry, transport: http(rpcUrl), entryPoint });
        const wallet = await open({
          paymaster: pimlico,
          paymasterContext: { token: facts.feeToken.address },
        });
        await mint(client, facts, wallet.account.address, plenty);
        const calls = [increment(facts)];
        const prepared = await prepareUserOperationForErc20Paymaster(pimlico)(wallet, {
          account: wallet.account,
          calls,
        });
        const signature = await wallet.account.signUserOperation(prepared);
        const receipt = await mined(wallet, { ...prepared, signature });
        assert.equal(receipt.success, true);
        assert.ok((await held(wallet.account.address)) < plenty);
      });

      test("permissionless' estimateErc20PaymasterCost and validateSponsorshipPolicies", async () => {
        const pimlico = createPimlicoClient({ chain: foundry, transport: http(rpcUrl), entryPoint });
        const wallet = await open({ paymaster: pimlico });
        const userOperation = await wallet.prepareUserOperation({ calls: [increment(facts)] });
        const { costInToken, costInUsd } = await pimlico.estimateErc20PaymasterCost({
          entryPoint,
          userOperation,
          token: facts.feeToken.address,
        });
        assert.ok(costInToken > 0n && costInUsd > 0n);
        const valid = await pimlico.validateSponsorshipPolicies({
          entryPointAddress: entryPoint.address,
          userOperation,
          sponsorshipPolicyIds: ['sp_shiny_puma'],
        });
        assert.deepEqual(
          valid.map(({ sponsorshipPolicyId }) => sponsorshipPolicyId),
          ['sp_shiny_puma'],
        );
      });
    });
}
