import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { toSimpleAccount } from './latest/simple-account.mjs';
import { startBundledService } from './processes.mjs';
import { increment, mint, newPaymaster } from './wallets.mjs';

const fees = { maxFeePerGas: 3_000_000_000n, maxPriorityFeePerGas: 1_000_000_000n };
const plenty = 10n ** 12n;

/**
 * `clients/viem` with the viem of the folder under test, on every version of the dev chain.
 * @param library `{ viem, accountAbstraction, accounts, chains, ours }`: the modules of viem, and of the package.
 */
export function viemPackageTests({ viem, accountAbstraction, accounts, chains, ours }) {
  const { createPublicClient, encodeFunctionData, erc20Abi, http } = viem;
  const { foundry } = chains;
  let running;
  let facts;
  let client;
  before(async () => {
    running = await startBundledService();
    facts = running.facts;
    client = createPublicClient({ chain: foundry, transport: http(facts.chainRpcUrl), pollingInterval: 100 });
  });
  after(() => running?.stop());

  describe('clients/viem', () => {
    for (const gasLimits of ['bundler', 'paymaster'])
      test(`sponsored, with gas limits of the ${gasLimits}`, async (t) => {
        for (const profile of facts.versions)
          await t.test(nameOf(profile), async () => {
            const wallet = await open(profile, gasLimits);
            for (const calls of [[increment(facts)], [increment(facts), increment(facts)]])
              await send(wallet, calls);
          });
      });

    test('signed in two phases: the paymaster signs what the account has signed', async (t) => {
      for (const profile of facts.versions.filter(({ entryPointVersion }) => entryPointVersion === '0.9'))
        for (const gasLimits of ['bundler', 'paymaster'])
          await t.test(`${nameOf(profile)}, with gas limits of the ${gasLimits}`, async () => {
            const url = await newPaymaster(facts, profile.version);
            const paymaster = ours.createPaymaster({ url, gasLimits, signingPhases: true });
            const wallet = await open(profile, gasLimits, undefined, { url, paymaster });
            await sendInPhases(profile, { url, paymaster, wallet }, [increment(facts)]);
          });
    });

    test('signed in two phases and paid in tokens', async (t) => {
      for (const profile of facts.versions.filter(
        ({ entryPointVersion, tokenPaymasterAddress }) =>
          entryPointVersion === '0.9' && tokenPaymasterAddress,
      ))
        await t.test(nameOf(profile), async () => {
          const context = { token: facts.feeToken.address };
          const url = await newPaymaster(facts, profile.version);
          const paymaster = ours.createPaymaster({ url, gasLimits: 'paymaster', signingPhases: true });
          const wallet = await open(profile, 'paymaster', context, { url, paymaster });
          await mint(client, facts, wallet.account.address, plenty);
          const calls = [approve(profile), increment(facts)];
          await sendInPhases(profile, { url, paymaster, wallet, context }, calls);
          assert.ok((await tokensOf(wallet)) < plenty);
        });
    });

    test('paid in tokens, with gas limits of the paymaster', async (t) => {
      for (const profile of facts.versions.filter(({ tokenPaymasterAddress }) => tokenPaymasterAddress))
        await t.test(nameOf(profile), async () => {
          const token = facts.feeToken.address;
          const wallet = await open(profile, 'paymaster', { token });
          await mint(client, facts, wallet.account.address, plenty);
          await send(wallet, [approve(profile), increment(facts)]);
          assert.ok((await tokensOf(wallet)) < plenty);
        });
    });

    test('a refusal is an error of its class, also inside of the error that viem throws', async () => {
      const [profile] = facts.versions;
      const wallet = await open(profile, 'paymaster');
      const elsewhere = { to: `0x${'12'.repeat(20)}`, data: '0x12345678' };
      const thrown = await wallet.sendUserOperation({ calls: [elsewhere] }).then(
        () => undefined,
        (error) => error,
      );
      const error = ours.findPaymasterError(thrown);
      assert.ok(error instanceof ours.SponsorshipRefusedError);
      assert.equal(error.reason, 'CONTRACT_NOT_REGISTERED');
      assert.deepEqual(error.call, { index: 0, target: elsewhere.to, selector: elsewhere.data });
      assert.equal(error.retryable, false);
      assert.match(error.requestId, /./);
    });

    test('an account without tokens gets a TokenPaymentError', async () => {
      const [profile] = facts.versions;
      const wallet = await open(profile, 'paymaster', { token: facts.feeToken.address });
      await assert.rejects(wallet.sendUserOperation({ calls: [increment(facts)] }), (thrown) => {
        const error = ours.findPaymasterError(thrown);
        return error instanceof ours.TokenPaymentError && error.reason === 'TOKEN_BALANCE';
      });
    });

    test('a wrong key, a wrong request and a service that does not answer are told apart', async () => {
      const { rpcUrl, entryPoint: entryPointAddress } = facts;
      const parameters = {
        chainId: foundry.id,
        entryPointAddress,
        sender: '0x12',
        nonce: 0n,
        callData: '0x',
      };
      const ask = (url) => ours.createPaymaster({ url, timeoutMs: 60_000 }).getPaymasterData(parameters);
      await assert.rejects(ask(rpcUrl), ours.InvalidRequestError);
      await assert.rejects(ask(rpcUrl.replace(/[^/]+$/, 'nobody')), ours.UnauthorizedError);
      await assert.rejects(ask('http://127.0.0.1:1/key'), (error) => {
        assert.ok(error instanceof ours.ConnectionError);
        assert.ok(!error.message.includes('key'));
        return true;
      });
    });

    test('explainSponsorship says what would make an operation pass', async () => {
      const { rpcUrl: url, authToken } = facts;
      const account = await accountOf(facts);
      const operation = async (call) => ({
        sender: account.address,
        nonce: 0n,
        initCode: '0x',
        callData: await account.encodeCalls([call]),
        ...fees,
        callGasLimit: 100_000n,
        verificationGasLimit: 150_000n,
        preVerificationGas: 60_000n,
      });
      const paymaster = ours.createPaymaster({ url, authToken });
      assert.equal((await paymaster.explainSponsorship(await operation(increment(facts)))).sponsored, true);
      const burn = { to: facts.sponsoredContract.address, data: '0x42966c68' };
      const explanation = await paymaster.explainSponsorship(await operation(burn));
      assert.equal(explanation.reason, 'METHOD_NOT_WHITELISTED');
      const refused = explanation.steps.find(({ verdict }) => verdict === 'refuse');
      assert.match(refused.remedy, /whitelistedMethods/);
      const stranger = ours.createPaymaster({ url });
      await assert.rejects(
        stranger.explainSponsorship(await operation(burn)),
        (error) => error instanceof ours.UnauthorizedError && error.reason === 'AUTH_TOKEN_REQUIRED',
      );
    });
  });

  function nameOf({ version, entryPointVersion }) {
    return `version ${version}, EntryPoint ${entryPointVersion}`;
  }

  async function accountOf({ entryPoint: address, entryPointVersion: version }) {
    const owner = accounts.privateKeyToAccount(accounts.generatePrivateKey());
    return toSimpleAccount({ viem, accountAbstraction }, { client, owner, entryPoint: { address, version } });
  }

  async function open(profile, gasLimits, paymasterContext, given) {
    const url = given?.url ?? (await newPaymaster(facts, profile.version));
    return accountAbstraction.createBundlerClient({
      account: await accountOf(profile),
      client,
      chain: foundry,
      transport: http(url),
      pollingInterval: 100,
      paymaster: given?.paymaster ?? ours.createPaymaster({ url, gasLimits }),
      ...(paymasterContext === undefined ? {} : { paymasterContext }),
      userOperation: { estimateFeesPerGas: async () => fees },
    });
  }

  /** Prepares, lets the account sign, then the paymaster, and sends the operation as it is. */
  async function sendInPhases({ entryPoint: entryPointAddress }, { url, paymaster, wallet, context }, calls) {
    const { account: _account, ...prepared } = await wallet.prepareUserOperation({ calls });
    const signed = { ...prepared, signature: await wallet.account.signUserOperation(prepared) };
    const at = { chainId: foundry.id, entryPointAddress, context };
    // A Paymaster that requires the account's signature refuses a stub that is not asked for in phases.
    const stub = await paymaster.getPaymasterStubData?.({ ...prepared, ...at });
    if (stub !== undefined) assert.equal(stub.paymasterSignature, prepared.paymasterSignature);
    const { paymasterSignature } = await paymaster.finalize({ ...signed, ...at });
    assert.equal(paymasterSignature.length, prepared.paymasterSignature.length);
    assert.notEqual(paymasterSignature, prepared.paymasterSignature);
    const bundler = accountAbstraction.createBundlerClient({ client, transport: http(url) });
    const hash = await bundler.sendUserOperation({ ...signed, paymasterSignature, entryPointAddress });
    const receipt = await bundler.waitForUserOperationReceipt({ hash, timeout: 60_000 });
    assert.equal(receipt.success, true);
  }

  function approve({ tokenPaymasterAddress }) {
    const args = [tokenPaymasterAddress, plenty];
    return {
      to: facts.feeToken.address,
      data: encodeFunctionData({ abi: erc20Abi, functionName: 'approve', args }),
    };
  }

  function tokensOf({ account }) {
    const { address } = facts.feeToken;
    return client.readContract({
      address,
      abi: erc20Abi,
      functionName: 'balanceOf',
      args: [account.address],
    });
  }

  async function send(wallet, calls) {
    const hash = await wallet.sendUserOperation({ calls });
    assert.equal((await wallet.waitForUserOperationReceipt({ hash, timeout: 60_000 })).success, true);
  }
}
