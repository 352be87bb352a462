import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { encodeFunctionData, erc20Abi, parseAbi, zeroAddress } from 'viem';
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts';
import { startBundledService } from './processes.mjs';
import { deploySafes, safe } from './safes.mjs';
import { emptyOfTokens, increment, mint, newPaymaster, openChain } from './wallets.mjs';

// Safe's own kit with both of its estimators. Its `init` looks for Safe's contracts in a list of public chains, so the parts that
// it makes are made here, with the addresses of the dev chain.

const plenty = 10n ** 12n;
// The generic estimator asks for half more than the node suggests, and anvil suggests what the last operations paid.
const fees = { maxFeePerGas: 3_000_000_000n, maxPriorityFeePerGas: 1_000_000_000n };
/** Of the token contracts of `make run`. */
const treasury = '0x90F79bf6EB2c4f870365E785982E1f101E93b906';

/** Tests of the kits that a folder has installed. */
export function relayKitTests(
  protocolKit,
  { createBundlerClient, GenericFeeEstimator, PimlicoFeeEstimator, Safe4337Pack },
) {
  const Safe = protocolKit.default ?? protocolKit;
  let service;
  let facts;
  let client;
  let modules;
  before(async () => {
    service = await startBundledService();
    facts = service.facts;
    client = openChain(facts);
    modules = await deploySafes(facts, client, profileOf('2.0.0').entryPoint);
  });
  after(() => service?.stop());

  function profileOf(version) {
    return facts.versions.find((each) => each.version === version);
  }

  /** Keeps the paymaster's gas limits of our stub: those of the bundler's estimate may be too low for a payment. */
  class KeepsPaymasterGas extends GenericFeeEstimator {
    #kept = {};

    async preEstimateUserOperationGas(options) {
      const stub = await super.preEstimateUserOperationGas(options);
      this.#kept = {
        paymasterVerificationGasLimit: BigInt(stub.paymasterVerificationGasLimit),
        paymasterPostOpGasLimit: BigInt(stub.paymasterPostOpGasLimit),
      };
      return stub;
    }

    async postEstimateUserOperationGas({ userOperation, ...options }) {
      const operation = { ...userOperation, ...this.#kept };
      const data = await super.postEstimateUserOperationGas({ ...options, userOperation: operation });
      return { ...this.#kept, ...data };
    }
  }

  const estimators = {
    "Pimlico's estimator": () => new PimlicoFeeEstimator(),
    'the generic estimator': () => new GenericFeeEstimator(facts.chainRpcUrl, fees),
    'an estimator that keeps our limits': () => new KeepsPaymasterGas(facts.chainRpcUrl, fees),
  };

  for (const [version, names] of Object.entries({
    'verifying-0.7': Object.keys(estimators),
    'singleton-0.7': Object.keys(estimators),
    // Its contract needs more gas after the call than alto estimates.
    '2.0.0': Object.keys(estimators).filter((name) => name !== 'the generic estimator'),
  }))
    for (const name of names)
      test(`Safe 1.4.1 by relay-kit, ${name}, version ${version}: the first operation, the next, and several calls at once`, async () => {
        const paymasterUrl = await newPaymaster(facts, version);
        const pack = await newPack({ paymasterUrl, isSponsored: true });
        const calls = [1, 1, 3].map((count) => Array(count).fill(increment(facts)));
        for (const one of calls) await send(pack, one, estimators[name]());
      });

  for (const version of ['singleton-0.7', '2.0.0']) {
    const inTokens = async () => {
      const token = facts.feeToken.address;
      const pack = await newPack({
        paymasterUrl: await newPaymaster(facts, version),
        paymasterAddress: profileOf(version).tokenPaymasterAddress,
        paymasterTokenAddress: token,
      });
      const address = await pack.protocolKit.getAddress();
      await mint(client, facts, address, plenty);
      // The first transfer to a treasury costs more than later ones.
      await emptyOfTokens(client, facts, treasury);
      return { pack, token, address };
    };

    test(`Safe 1.4.1 by relay-kit, an estimator that keeps our limits, version ${version}: approves and pays in tokens`, async () => {
      const { pack, token, address } = await inTokens();
      await send(pack, [increment(facts)], new KeepsPaymasterGas(facts.chainRpcUrl, fees), {
        amountToApprove: plenty,
      });
      const held = { abi: erc20Abi, address: token, functionName: 'balanceOf', args: [address] };
      assert.ok((await client.readContract(held)) < plenty);
    });

    test(`Safe 1.4.1 by relay-kit, the bundler's limits, version ${version}: a payment in tokens is refused with the limits that it needs`, async () => {
      const { pack } = await inTokens();
      const sent = send(pack, [increment(facts)], new PimlicoFeeEstimator(), { amountToApprove: plenty });
      await assert.rejects(sent, /paymasterPostOpGasLimit must be \d+, as the stub has it/);
    });
  }

  async function newPack(paymasterOptions) {
    const { entryPoint } = profileOf('2.0.0');
    const signer = generatePrivateKey();
    const contractNetworks = {
      [facts.chainId]: {
        safeSingletonAddress: safe.singleton,
        safeProxyFactoryAddress: safe.proxyFactory,
        multiSendAddress: safe.multiSend,
        multiSendCallOnlyAddress: safe.multiSendCallOnly,
      },
    };
    const protocolKit = await Safe.init({
      provider: facts.chainRpcUrl,
      signer,
      contractNetworks,
      predictedSafe: {
        safeDeploymentConfig: { safeVersion: '1.4.1' },
        safeAccountConfig: {
          owners: [privateKeyToAddress(signer)],
          threshold: 1,
          to: modules.setup,
          data: encodeFunctionData({
            abi: parseAbi(['function enableModules(address[] modules)']),
            args: [[modules.module]],
          }),
          fallbackHandler: modules.module,
          paymentToken: zeroAddress,
          payment: 0,
          paymentReceiver: zeroAddress,
        },
      },
    });
    return new Safe4337Pack({
      protocolKit,
      paymasterOptions,
      chainId: BigInt(facts.chainId),
      bundlerUrl: paymasterOptions.paymasterUrl,
      bundlerClient: createBundlerClient(paymasterOptions.paymasterUrl),
      entryPointAddress: entryPoint,
      safe4337ModuleAddress: modules.module,
    });
  }

  async function send(pack, calls, feeEstimator, options = {}) {
    const transactions = calls.map(({ to, data }) => ({ to, data, value: '0' }));
    const operation = await pack.createTransaction({ transactions, options: { feeEstimator, ...options } });
    const executable = await pack.signSafeOperation(operation);
    const hash = await pack.executeTransaction({ executable });
    const deadline = Date.now() + 20_000;
    let receipt = null;
    while (receipt === null && Date.now() < deadline) {
      receipt = await pack.getUserOperationReceipt(hash);
      if (receipt === null) await new Promise((resolve) => setTimeout(resolve, 100));
    }
    assert.equal(receipt?.success, true);
  }
}
