import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Interface, getBytes } from 'ethers';
import fc from 'fast-check';
import { createGasEstimator } from '../../adapters/estimator/estimator.js';
import { createTokenPaymentChecker } from '../../adapters/estimator/token-payment.js';
import { silentLogger } from '../../core/log.js';
import type { TokenTerms } from '../../core/paymaster/layout.js';
import { stubSignature } from '../../core/paymaster/signature.js';
import type { SigningItem } from '../../core/paymaster/signer.js';
import { limitsWithPayment, withApproval } from '../../core/paymaster/token-payment.js';
import { renderFeeQuote } from '../../core/pricing/fee-quote.js';
import { toAddressKey, type Address } from '../../core/units/address.js';
import { systemClock, toSeconds } from '../../core/units/time.js';
import type { GasEstimator } from '../../core/userop/estimator.js';
import type { TokenPaymentChecker } from '../../core/paymaster/token-payment-checker.js';
import type { FinalUserOperation, UserOperation } from '../../core/entry-point/user-operation.js';
import type { DevProfile } from '../../standalone/dev-chain/paymaster-contracts.js';
import { defaultLimits } from '../build/default-limits.js';
import { buildAccount, encodeWith, type Call, type TestAccount } from './support/account.js';
import { balanceOf } from './support/balances.js';
import { startDevChain, type DevChain } from './support/dev-chain.js';
import { handleOp } from './support/handle-ops.js';
import {
  approval,
  deployToken,
  mint,
  payInTokens,
  tokenCodecOf,
  tokenProfiles,
  tokenTerms,
} from './support/tokens.js';
import { buildUserOp, sponsorUserOp } from './support/user-op.js';

const counter = new Interface(['function burn(uint256 rounds)']);
/** Fixed, so that a failure is the same again; another seed is another series. */
const seed = 20_261_121;
const rounds = 14;

let devChain: DevChain;
let checker: TokenPaymentChecker;
let estimator: GasEstimator;
beforeAll(async () => {
  devChain = await startDevChain();
  const deps = {
    chains: devChain.chains,
    endpoint: () => ({ rpc: { urls: [devChain.url] } }),
    clock: systemClock,
    log: silentLogger,
  };
  checker = createTokenPaymentChecker(deps);
  estimator = createGasEstimator(deps);
});
afterAll(() => devChain.stop());

/** One wallet's purchase of gas. */
type Purchase = {
  readonly decimals: number;
  /** Whole tokens per 10^6 native coins: from one that is worth ten thousand coins to dust. */
  readonly tokensPerMillionCoins: bigint;
  readonly priceMarkup: number;
  readonly maxFeePerGas: bigint;
  readonly tipPercent: bigint;
  /** Storage slots that the operation's call writes. */
  readonly slots: number;
  readonly isDeployed: boolean;
};

const anyPurchase: fc.Arbitrary<Purchase> = fc.record({
  decimals: fc.oneof(fc.constantFrom(0, 6, 18, 24), fc.integer({ min: 0, max: 24 })),
  tokensPerMillionCoins: fc
    .tuple(fc.integer({ min: 2, max: 15 }), fc.bigInt({ min: 1n, max: 9_999n }))
    .map(([exponent, digits]) => digits * 10n ** BigInt(exponent - 2)),
  priceMarkup: fc.oneof(
    fc.constantFrom(1_000_000, 1_120_000, 2_000_000),
    fc.integer({ min: 1_000_000, max: 2_000_000 }),
  ),
  maxFeePerGas: fc.bigInt({ min: 2_000_000_000n, max: 200_000_000_000n }),
  tipPercent: fc.bigInt({ min: 0n, max: 100n }),
  slots: fc.integer({ min: 0, max: 12 }),
  isDeployed: fc.boolean(),
});

const purchases = fc.sample(anyPurchase, { seed, numRuns: rounds });

test('the series has what it is for: both ends of decimals, premium and gas, accounts that exist and that do not', () => {
  const has = (holds: (purchase: Purchase) => boolean) => purchases.some(holds);
  expect(has(({ decimals }) => decimals === 0) && has(({ decimals }) => decimals === 24)).toBe(true);
  expect(has(({ priceMarkup }) => priceMarkup === 1_000_000)).toBe(true);
  expect(has(({ priceMarkup }) => priceMarkup === 2_000_000)).toBe(true);
  expect(has(({ isDeployed }) => isDeployed) && has(({ isDeployed }) => !isDeployed)).toBe(true);
  expect(has(({ slots }) => slots === 0) && has(({ slots }) => slots > 9)).toBe(true);
  // From tokens that are worth thousands of coins to dust.
  expect(has(({ tokensPerMillionCoins }) => tokensPerMillionCoins < 1_000n)).toBe(true);
  expect(has(({ tokensPerMillionCoins }) => tokensPerMillionCoins > 10n ** 13n)).toBe(true);
});

describe.each(tokenProfiles)('profile %s', (version) => {
  test('an account that holds and approves the quoted amount is accepted, and pays at least the true cost and at most the quote', async () => {
    const profile = devChain.profile(version);
    for (const purchase of purchases) {
      const outcome = await buy(profile, purchase);
      const { charge, actualGasCost, exchangeRate, approved, success } = outcome;
      const context = JSON.stringify({ purchase, outcome }, (_key, value: unknown) =>
        typeof value === 'bigint' ? value.toString() : value,
      );
      if (!success) throw new Error(`not executed: ${context}`);
      // charge / 10^decimals against cost × rate × premium, without a division.
      const cost = actualGasCost * exchangeRate * BigInt(purchase.priceMarkup);
      if (charge * 10n ** 24n < cost) throw new Error(`undercharged: ${context}`);
      if (charge > approved) throw new Error(`more than the quote: ${context}`);
      expect(outcome.treasuryGain).toBe(charge);
    }
    expect(purchases).toHaveLength(rounds);
  });
});

/** As a client of the vendor's SDK does it: quote, approve that much in front of the call, ask again, sign, send. */
async function buy(profile: DevProfile, purchase: Purchase) {
  const token = await deployToken(devChain, purchase.decimals);
  const account = await buildAccount(devChain, profile.entryPointVersion);
  if (purchase.isDeployed) {
    const deployment = await sponsorUserOp(devChain, profile, account, await buildUserOp(account, []));
    await handleOp(devChain, profile.entryPointVersion, deployment);
  }
  const rate = (purchase.tokensPerMillionCoins * 10n ** BigInt(purchase.decimals)) / 1_000_000n;
  const exchangeRate = rate > 0n ? rate : 1n;
  const terms = await tokenTerms(devChain, profile, {
    token: toAddressKey(token),
    exchangeRate,
    priceMarkup: purchase.priceMarkup,
  });
  const calls = [burn(purchase.slots)];

  const quoted = await withLimits(profile, await operation(account, calls, purchase), terms);
  const approved = quotedAmount(profile, quoted, terms, purchase, token);
  const op = await withLimits(
    profile,
    await operation(account, [approval(token, profile, approved), ...calls], purchase),
    terms,
  );
  await mint(devChain, token, account.address, approved);
  expect(await checker.check(paymentOf(profile, op, terms))).toEqual({ pass: true });

  const treasury = () => balanceOf(devChain, token, devChain.deployments.treasury);
  const before = await treasury();
  const signed = await payInTokens(devChain, profile, account, op, terms);
  const { event } = await handleOp(devChain, profile.entryPointVersion, signed);
  return {
    success: event.success,
    actualGasCost: event.actualGasCost,
    exchangeRate,
    approved,
    charge: approved - (await balanceOf(devChain, token, account.address)),
    treasuryGain: (await treasury()) - before,
  };
}

/** `ceil(maxGasFee * 10^decimal)` in floats, of the quote as it is rendered. */
function quotedAmount(
  profile: DevProfile,
  op: FinalUserOperation,
  terms: TokenTerms,
  { decimals }: Purchase,
  token: Address,
): bigint {
  const { maxGasFee, decimal } = renderFeeQuote({
    token: {
      chainId: devChain.chainId,
      address: token,
      symbol: 'T',
      decimals,
      price: { static: { rate: terms.exchangeRate.toString() } },
    },
    price: { rate: terms.exchangeRate },
    maxCharge: tokenCodecOf(profile).maxTokenCharge(withApproval(op), terms),
    usdPerNative: undefined,
    validUntil: toSeconds(systemClock.now()),
  });
  return BigInt(Math.ceil(maxGasFee * 10 ** decimal));
}

function operation(account: TestAccount, calls: readonly Call[], purchase: Purchase) {
  const { maxFeePerGas, tipPercent } = purchase;
  return buildUserOp(account, calls, {
    maxFeePerGas,
    maxPriorityFeePerGas: (maxFeePerGas * tipPercent) / 100n,
  });
}

/** Estimated as for an account that has nothing yet. */
async function withLimits(
  profile: DevProfile,
  op: FinalUserOperation,
  terms: TokenTerms,
): Promise<FinalUserOperation> {
  const codec = tokenCodecOf(profile);
  const unestimated: UserOperation = op;
  const estimate = await estimator.estimate({
    paymasterId: 'pm-1',
    chainId: devChain.chainId,
    entryPoint: profile.entryPoint,
    entryPointVersion: profile.entryPointVersion,
    op: unestimated,
    paymasterAndData: undefined,
    minVerificationGasLimit: 0n,
    most: defaultLimits,
  });
  expect(estimate.reverted).toBeUndefined();
  return { ...op, ...limitsWithPayment(estimate, op, codec, codec.encode(op, terms, stubSignature())) };
}

function paymentOf(profile: DevProfile, op: FinalUserOperation, terms: TokenTerms) {
  return {
    paymasterId: 'pm-1',
    chainId: devChain.chainId,
    entryPoint: profile.entryPoint,
    entryPointVersion: profile.entryPointVersion,
    codec: tokenCodecOf(profile),
    op,
    terms,
    sign: async ({ digest }: SigningItem) => getBytes(await devChain.sponsorSigner.signMessage(digest)),
  };
}

function burn(slots: number): Call {
  return {
    to: devChain.deployments.sponsoredContract.address,
    data: encodeWith(counter, 'burn', [slots]),
  };
}
