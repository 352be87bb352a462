import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { Interface, getBytes } from 'ethers';
import { createGasEstimator } from '../../adapters/estimator/estimator.js';
import { createTokenPaymentChecker } from '../../adapters/estimator/token-payment.js';
import { silentLogger } from '../../core/log.js';
import { noMetrics } from '../../core/metrics.js';
import { layouts } from '../../core/paymaster/layouts.js';
import { priced } from '../../core/pricing/price-source.js';
import { parseAddress, toAddressKey, type Address } from '../../core/units/address.js';
import type { Hex } from '../../core/units/hex.js';
import { systemClock } from '../../core/units/time.js';
import type { UserOperation } from '../../core/entry-point/user-operation.js';
import { tokenMode } from '../../server/decision/token/in-tokens.js';
import type { Sponsorship } from '../../server/decision/request.js';
import { createSigningBatch } from '../../server/decision/sign/signing-batch.js';
import { createSponsor } from '../../server/decision/sign/sign.js';
import { createInstruments } from '../../server/ops/instruments.js';
import { serveChain } from '../../server/view/served-chain.js';
import { servePaymaster } from '../../server/view/served-paymaster.js';
import { createSharing } from '../../server/view/sharing.js';
import type { DevProfile } from '../../standalone/dev-chain/paymaster-contracts.js';
import { addressOf, aChainConfig, aPaymasterConfig } from '../build/configs.js';
import { aFeeToken, aPrice } from '../build/fee-tokens.js';
import { buildAccount, encodeWith, type TestAccount } from './support/account.js';
import { startDevChain, type DevChain } from './support/dev-chain.js';
import { handleOp } from './support/handle-ops.js';
import { createNodes, startInRounds } from './support/nodes.js';
import { approval, deployToken, mint } from './support/tokens.js';
import { buildUserOp, sponsorUserOp } from './support/user-op.js';
import { signsBy } from '../build/signing.js';
import { noDelegates } from '../build/delegates.js';

// How many round trips to the node a payment in tokens needs before it is signed.

const counter = new Interface(['function burn(uint256 rounds)', 'function increment()']);
const plenty = 10n ** 12n;
/** Reverts with less than this much gas left (three bytes at the second one), else writes a slot. */
const wantsGas = (gas: number): Hex =>
  `0x5a62${gas.toString(16).padStart(6, '0')}11600f576001600055005b60006000fd`;
/** The limits found, and twice with both raised. */
const candidates = 3;
const contract = (): Hex => `0x${'c2'.repeat(20)}`;
const counted = (): Hex => devChain.deployments.sponsoredContract.address;

let devChain: DevChain;
let token: Address;
const nodes = createNodes(() => devChain.url);
beforeAll(async () => {
  devChain = await startDevChain();
  token = await deployToken(devChain, 6);
});
afterEach(() => nodes.stop());
afterAll(() => devChain.stop());

describe.each(['1.1.0', '2.0.0', 'singleton-0.8', 'hybrid-0.9'])('profile %s', (version) => {
  test('every payment takes two round trips, also when its limits are raised or not found', async () => {
    const profile = devChain.profile(version);
    const account = await anAccountThatPays(profile);
    const node = await startInRounds(nodes);
    const pay = payerOver(node.url, profile);
    const { ground, payment, ofUnknown } = callsOf(profile);
    // Beside them what an unknown node may need instead.
    node.plan(8 + ground, candidates + candidates * ofUnknown);
    expect(await pay(await callOf(account, counted, 'increment'))).toMatchObject({ outcome: 'sponsored' });
    // The operation with plenty of gas and without its call, beside what the payment depends on; then the limits that may be the
    // ones, and the payment with each of them.
    const first = [2 + ground, candidates + candidates * payment] as const;
    node.plan(...first);
    expect(await pay(await callOf(account, counted, 'burn', 5))).toMatchObject({ outcome: 'sponsored' });
    node.plan(3 + ground, payment);
    expect(await pay(await callOf(account, counted, 'burn', 5))).toMatchObject({ outcome: 'sponsored' });
    // As long, with other needs.
    node.plan(3 + ground, candidates + candidates * payment);
    expect(await pay(await callOf(account, counted, 'burn', 40))).toMatchObject({ outcome: 'sponsored' });

    await install(wantsGas(120_000));
    node.plan(...first);
    const raised = await pay(await callOf(account, contract, 'increment'));
    if (raised.outcome !== 'sponsored') throw new Error(raised.refusal.reason);
    expect(raised.op.callGasLimit).toBeGreaterThan(120_000n);
    expect(raised.op.callGasLimit).toBeLessThan(400_000n);

    await install(wantsGas(5_000_000));
    node.plan(...first);
    await expect(pay(await callOf(account, contract, 'burn', 1))).rejects.toThrow(
      /the call uses \d+ gas, and fails with a callGasLimit of \d+, the highest that is tried for it/,
    );
    expect(node.isDone()).toBe(true);
  });
});

/** An account on chain that holds tokens and has allowed the profile's contract to take them. */
async function anAccountThatPays(profile: DevProfile): Promise<TestAccount> {
  const account = await buildAccount(devChain, profile.entryPointVersion);
  await mint(devChain, token, account.address, plenty);
  const first = await buildUserOp(account, [approval(token, profile, plenty)]);
  await handleOp(devChain, profile.entryPointVersion, await sponsorUserOp(devChain, profile, account, first));
  return account;
}

/** A call of the contract on the dev chain, or of our own code. */
async function callOf(
  account: TestAccount,
  to: () => Hex,
  method: 'increment' | 'burn',
  ...values: readonly number[]
): Promise<UserOperation> {
  const data = encodeWith(counter, method, values);
  return withoutLimits(await buildUserOp(account, [{ to: to(), data }]));
}

async function install(code: Hex): Promise<void> {
  await devChain.chain.request('anvil_setCode', [contract(), code]);
}

function withoutLimits(op: UserOperation): UserOperation {
  return { ...op, callGasLimit: undefined, verificationGasLimit: undefined, preVerificationGas: undefined };
}

/** `eth_call`s: views that do not depend on limits, and those that simulate a payment. */
function callsOf({ layout }: DevProfile) {
  const { receiverCalls = [] } = layouts[layout].token ?? {};
  // The treasury, or the contract and the one that it names.
  const receivers = receiverCalls.length === 0 ? 1 : 2;
  // Balance and allowance after the call; of each receiver the balance before and after the payment.
  const payment = 2 + 2 * receivers;
  // Simulations are asked with a time and without one; views of the token are not.
  return { ground: receiverCalls.length, payment, ofUnknown: payment + 2 + receivers };
}

/** The decision of mode ERC20 over this node, with a usage store that has room for everything. */
function payerOver(url: string, profile: DevProfile): (op: UserOperation) => Promise<Sponsorship> {
  const { version, layout, entryPoint, sponsorship, options } = profile;
  const paymaster = servePaymaster(aPaymasterConfig({ version }), createSharing());
  const signer = {
    address: parseAddress(devChain.sponsorSigner.address),
    implementation: 'test',
    sign: signsBy((digest) => getBytes(devChain.sponsorSigner.signingKey.sign(digest).serialized)),
  };
  const config = aChainConfig({
    feeTokens: [aFeeToken({ address: token })],
    profiles: [
      {
        version,
        layout,
        entryPoint,
        sponsorship,
        token: profile.token!,
        signerFile: 'dev',
        options: { priceMarkup: 1_000_000, unaccountedGas: 50_000, ...options },
      },
    ],
  });
  const chain = serveChain(config, { get: () => signer, recover: () => addressOf(0) }, silentLogger);
  const endpoint = () => ({ rpc: { urls: [url] } });
  const simulators = { chains: devChain.chains, endpoint, clock: systemClock };
  const head = { number: 1, timestamp: 0, baseFeePerGas: 1_000_000_000n, priorityFeePerGas: 1_000_000_000n };
  const deps = {
    view: {
      chain: () => chain,
      isStale: () => false,
      addressList: () => undefined,
      refresh: () => Promise.resolve(paymaster),
      isCurrent: () => true,
    },
    dataFees: { get: () => undefined },
    heads: { get: () => ({ ...head, observedAt: systemClock.now() }) },
    usage: {
      now: () => systemClock.now(),
      capacity: () => Number.POSITIVE_INFINITY,
      reserve: async () => ({ outcome: 'reserved' as const }),
      peek: async () => ({ result: { outcome: 'reserved' as const }, limits: [], holds: [], accounts: [] }),
    },
    estimator: createGasEstimator({ ...simulators, log: silentLogger }),
    payments: createTokenPaymentChecker(simulators),
    prices: {
      peek: () => priced(aPrice()),
      get: async () => priced(aPrice()),
      usdPerNative: () => undefined,
    },
    delegates: noDelegates,
    tokenAccounts: { payer: () => undefined, known: () => [] },
    signing: createSigningBatch({ instruments: createInstruments(noMetrics) }),
    clock: systemClock,
  };
  const sponsor = createSponsor(deps, tokenMode(deps));
  return async (op) =>
    sponsor(paymaster, {
      op,
      method: 'pm_sponsorUserOperation',
      calculateGasLimits: true,
      expirySeconds: undefined,
      webhookData: {},
      requestId: 'test',
      feeToken: toAddressKey(token),
    });
}
