import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { LayoutId, TokenTerms } from '../../../core/paymaster/layout.js';
import { layouts } from '../../../core/paymaster/layouts.js';
import { rateWithMarkup } from '../../../core/paymaster/token-price.js';
import { requiredGas } from '../../../core/entry-point/gas.js';
import type { FinalUserOperation } from '../../../core/entry-point/user-operation.js';
import { anExampleOperation, exampleTokenTerms } from './operations.js';

// What each contract computes, written from its source: in its own order, rounding and integer divisions.

/** An operation in progress: gas used before postOp, and the price per gas that is paid. */
type Usage = { readonly gas: bigint; readonly price: bigint };
type Charge = (op: FinalUserOperation, terms: TokenTerms, usage: Usage) => bigint;

const coin = 10n ** 18n;
const ceil = (dividend: bigint, divisor: bigint) => (dividend + divisor - 1n) / divisor;
const signedRate = ({ exchangeRate, priceMarkup }: TokenTerms) =>
  ceil(exchangeRate * BigInt(priceMarkup), 1_000_000n);
const constantFee = (terms: TokenTerms) => terms.options.constantFee ?? 1n;

const contracts: readonly { name: string; layout: LayoutId; charge: Charge }[] = [
  {
    name: 'the vendor’s token paymaster 1.x',
    layout: 'vendor-1.1.0',
    charge: (_op, { exchangeRate, priceMarkup }, { gas, price }) =>
      ((((gas * price + 45_000n * price) * exchangeRate) / coin) * BigInt(priceMarkup)) / 1_000_000n,
  },
  {
    name: 'HybridPaymaster06, paid after the call',
    layout: 'vendor-1.1.0',
    charge: (_op, { exchangeRate, priceMarkup }, { gas, price }) =>
      ceil((gas + 60_000n) * price * exchangeRate * BigInt(priceMarkup), coin * 1_000_000n),
  },
  {
    name: 'HybridPaymaster06, paid in validation',
    layout: 'vendor-1.1.0',
    charge: (op, { exchangeRate, priceMarkup }) => {
      const gas = op.callGasLimit + op.verificationGasLimit + op.preVerificationGas + 60_000n;
      return ceil(gas * op.maxFeePerGas * exchangeRate * BigInt(priceMarkup), coin * 1_000_000n);
    },
  },
  {
    name: 'the vendor’s token paymaster 2.x',
    layout: 'vendor-2.x',
    charge: (op, { exchangeRate, priceMarkup }, { gas, price }) => {
      const penalty = ((op.callGasLimit + 100_000n) * 10n) / 100n;
      const cost = gas * price + (95_000n + penalty) * price;
      return (cost * BigInt(priceMarkup) * exchangeRate) / (coin * 1_000_000n);
    },
  },
  {
    name: 'HybridPaymaster07, paid after the call',
    layout: 'vendor-2.x',
    charge: (op, { exchangeRate, priceMarkup }, { gas, price }) => {
      const penalty = (op.callGasLimit + 100_000n + 9n) / 10n;
      const cost = (gas + 60_000n + penalty) * price;
      return ceil(cost * exchangeRate * BigInt(priceMarkup), coin * 1_000_000n);
    },
  },
  {
    name: 'HybridPaymaster07, paid in validation',
    layout: 'vendor-2.x',
    charge: (op, { exchangeRate, priceMarkup }) => {
      const gas = op.callGasLimit + op.verificationGasLimit + op.preVerificationGas + 190_000n;
      const fine = (10n * (op.callGasLimit + 100_000n) * op.maxFeePerGas) / 100n;
      const taken = (gas + 60_000n) * op.maxFeePerGas + fine;
      return ceil(taken * exchangeRate * BigInt(priceMarkup), coin * 1_000_000n);
    },
  },
  {
    name: 'HybridPaymaster09, paid after the call',
    layout: 'hybrid-0.9',
    charge: (_op, { exchangeRate, priceMarkup }, { gas, price }) => {
      const cost = (gas + 60_000n + 10_000n) * price;
      return ceil(cost * exchangeRate * BigInt(priceMarkup), coin * 1_000_000n);
    },
  },
  {
    name: 'HybridPaymaster09, paid in validation',
    layout: 'hybrid-0.9',
    charge: (op, { exchangeRate, priceMarkup }) => {
      const gas = op.callGasLimit + op.verificationGasLimit + op.preVerificationGas + 190_000n;
      const taken = (gas + 60_000n) * op.maxFeePerGas + 10_000n * op.maxFeePerGas;
      return ceil(taken * exchangeRate * BigInt(priceMarkup), coin * 1_000_000n);
    },
  },
  {
    name: 'singleton 0.6',
    layout: 'singleton-0.6',
    charge: (_op, terms, { gas, price }) =>
      ((gas * price + 65_000n * price) * signedRate(terms)) / coin + constantFee(terms),
  },
  {
    name: 'singleton 0.7',
    layout: 'singleton-0.7',
    charge: (op, terms, { gas, price }) => {
      const before = op.preVerificationGas + op.verificationGasLimit + 1n;
      const actual = gas + 60_000n;
      const used = actual > before ? actual - before : 0n;
      const limit = op.callGasLimit + 70_000n;
      const fine = limit > used ? ((limit - used) * 10n) / 100n : 0n;
      const cost = gas * price + fine * price;
      return ((cost + 65_000n * price) * signedRate(terms)) / coin + constantFee(terms);
    },
  },
  {
    name: 'singleton 0.8',
    layout: 'singleton-0.8',
    charge: (_op, terms, { gas, price }) =>
      ((gas * price + 65_000n * price) * signedRate(terms)) / coin + constantFee(terms),
  },
];

const gasLimit = fc.bigInt({ min: 0n, max: 10_000_000n });
const anyPricedOperation = fc
  .record({
    callGasLimit: gasLimit,
    verificationGasLimit: gasLimit,
    preVerificationGas: gasLimit,
    maxFeePerGas: fc.bigInt({ min: 1n, max: 10n ** 13n }),
  })
  .map((limits): FinalUserOperation => ({ ...anExampleOperation, ...limits }));
const anyPrices = fc
  .record({
    // From a token of no decimals worth a thousand coins to one of 24 decimals worth next to nothing.
    exchangeRate: fc.bigInt({ min: 1n, max: 10n ** 36n }),
    priceMarkup: fc.integer({ min: 1_000_000, max: 2_000_000 }),
    constantFee: fc.option(fc.bigInt({ min: 0n, max: 10n ** 30n }), { nil: undefined }),
  })
  .map(({ exchangeRate, priceMarkup, constantFee: fee }): TokenTerms => ({
    ...exampleTokenTerms,
    exchangeRate,
    priceMarkup,
    options: { ...exampleTokenTerms.options, ...(fee === undefined ? {} : { constantFee: fee }) },
  }));
/** Shares of the allowance, in parts per million; the ends are the interesting ones. */
const share = fc.oneof(fc.constantFrom(0n, 1_000_000n), fc.bigInt({ min: 0n, max: 1_000_000n }));

describe.each(contracts)('$name', ({ layout, charge }) => {
  const { token, entryPointVersion } = layouts[layout];
  if (token === undefined) throw new Error(`layout ${layout} has no token mode`);

  test('never takes more than the bound, whatever gas is used at whatever price', () => {
    fc.assert(
      fc.property(anyPricedOperation, anyPrices, share, share, (op, terms, gasShare, priceShare) => {
        const allowed = requiredGas(op, entryPointVersion, token.gas(terms.options));
        const usage = {
          gas: (allowed * gasShare) / 1_000_000n,
          price: (op.maxFeePerGas * priceShare) / 1_000_000n,
        };
        expect(charge(op, terms, usage)).toBeLessThanOrEqual(token.maxTokenCharge(op, terms));
      }),
      { numRuns: 400 },
    );
  });

  test('is bounded tightly: the worst case takes more than three quarters of the bound', () => {
    const op = { ...anExampleOperation, callGasLimit: 500_000n };
    const terms = { ...exampleTokenTerms, exchangeRate: 10n ** 18n };
    const gas = requiredGas(op, entryPointVersion, token.gas(terms.options));
    const worst = contracts
      .filter((each) => each.layout === layout)
      .map((each) => each.charge(op, terms, { gas, price: op.maxFeePerGas }))
      .reduce((most, each) => (each > most ? each : most));
    expect(worst * 4n).toBeGreaterThan(token.maxTokenCharge(op, terms) * 3n);
  });

  test('a product that overflows its 256 bits is refused here, because it would revert there', () => {
    const terms = { ...exampleTokenTerms, exchangeRate: 2n ** 220n };
    expect(() => token.maxTokenCharge({ ...anExampleOperation, maxFeePerGas: 10n ** 12n }, terms)).toThrow(
      'exceeds 256 bits',
    );
  });
});

test('a premium in the rate never asks for less than the premium, and for less than one base unit more', () => {
  fc.assert(
    fc.property(anyPrices, (terms) => {
      const wanted = terms.exchangeRate * BigInt(terms.priceMarkup);
      const raised = rateWithMarkup(terms) * 1_000_000n;
      expect(raised).toBeGreaterThanOrEqual(wanted);
      expect(raised - wanted).toBeLessThan(1_000_000n);
    }),
  );
});
