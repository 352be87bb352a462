import { describe, expect, test } from '@jest/globals';
import { shorterExpiry, widerCaps } from '../../../core/config/caps.js';
import type { ChainConfig } from '../../../core/config/chain-config.js';
import type { PaymasterSpec } from '../../../core/resources/paymaster.js';

type Case = {
  readonly name: string;
  readonly spec: Pick<PaymasterSpec, 'gas' | 'maxExpirySeconds' | 'rateLimit'>;
  readonly chain?: Partial<ChainConfig>;
  readonly message: string | undefined;
};

describe('a cap of a Paymaster that is wider than the platform’s shows with both figures', () => {
  const chain = { gas: {} };
  test.each<Case>([
    { name: 'none given', spec: {}, message: undefined },
    {
      name: 'all as the defaults are',
      spec: { gas: { maxFeePerGas: '50000000000', maxDeploymentGas: 1_000_000 }, maxExpirySeconds: 600 },
      message: undefined,
    },
    {
      name: 'a fee above a fixed cap of the chain',
      spec: { gas: { maxFeePerGas: '1000000000000000' } },
      chain: { gas: { maxFeePerGas: '30000000000' } },
      message: 'spec.gas.maxFeePerGas is 1000000000000000 wei, the platform allows 30000000000.',
    },
    {
      name: 'a fee above a default that floats',
      spec: { gas: { maxFeePerGas: '1000000000000000' } },
      message:
        'spec.gas.maxFeePerGas is 1000000000000000 wei, the platform allows 50000000000 (or 3 times the latest base fee, where that is more).',
    },
    {
      name: 'a fee above the default on a chain that raises it',
      spec: { gas: { maxFeePerGas: '900000000000' } },
      chain: { gas: { maxFeePerGas: '900000000000' } },
      message: undefined,
    },
    {
      name: 'several gas limits',
      spec: { gas: { maxCallGasLimit: 30_000_000, maxPreVerificationGas: 30_000_000 } },
      chain: { gas: { maxPreVerificationGas: 200_000 } },
      message:
        'spec.gas.maxCallGasLimit is 30000000 gas, the platform allows 10000000; spec.gas.maxPreVerificationGas is 30000000 gas, the platform allows 200000.',
    },
    {
      name: 'what unused gas may cost',
      spec: { gas: { maxUnusedGasFee: '2000000000000000' } },
      message:
        'spec.gas.maxUnusedGasFee is 2000000000000000 wei, the platform allows 1000000000000000 (or the price of 150000 gas at the latest base fee, where that is more).',
    },
    {
      name: 'an expiry above the default',
      spec: { maxExpirySeconds: 7200 },
      message: 'spec.maxExpirySeconds is 7200, the platform allows 600.',
    },
    {
      name: 'an expiry on a chain that raises it',
      spec: { maxExpirySeconds: 7200 },
      chain: { maxExpirySeconds: 7200 },
      message: undefined,
    },
    {
      name: 'a rate that is higher although its burst is smaller',
      spec: { rateLimit: { perKey: { requests: 10, perSeconds: 1 } } },
      chain: { rateLimit: { perKey: { requests: 100, perSeconds: 60 } } },
      message: 'spec.rateLimit.perKey is 10 requests per 1 s, the platform allows 100 requests per 60 s.',
    },
    {
      name: 'a rate where the chain has none',
      spec: { rateLimit: { perClient: { requests: 1_000_000, perSeconds: 1 } } },
      message: undefined,
    },
  ])('$name', ({ spec, chain: overrides, message }) => {
    const found = widerCaps(spec, { ...chain, ...overrides });
    expect(found?.message).toBe(message === undefined ? undefined : `The platform's caps count: ${message}`);
    expect(found?.status).toBe(message === undefined ? undefined : 'True');
  });
});

test.each([
  { paymaster: undefined, chain: undefined, seconds: 600 },
  { paymaster: 7200, chain: undefined, seconds: 600 },
  { paymaster: 60, chain: undefined, seconds: 60 },
  { paymaster: undefined, chain: 7200, seconds: 7200 },
  { paymaster: 900, chain: 7200, seconds: 900 },
  { paymaster: 900, chain: 300, seconds: 300 },
])(
  'of paymaster $paymaster and chain $chain data are valid $seconds s at most',
  ({ paymaster, chain, seconds }) => {
    expect(shorterExpiry(paymaster, chain)).toBe(seconds);
  },
);
