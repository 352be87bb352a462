import { addressOf, aLimitConfig, aPaymasterConfig, mintSelector, someNow } from '../../build/configs.js';

export const minuteMs = 60_000;
export const idOf = (n: number): string => `7a1c7c2e-1111-5222-8333-44445555666${n}`;

const ofPaymaster = (n: number, version: string) =>
  aPaymasterConfig({
    paymasterId: idOf(n),
    version,
    contracts: [{ name: 'Coin', address: addressOf(0x7a), selectors: [mintSelector] }],
    limits: [
      aLimitConfig({ policyId: `${n}a`, threshold: '6', durationMs: 10 * minuteMs, startMs: someNow }),
      aLimitConfig({
        policyId: `${n}b`,
        thresholdType: 'NATIVE_ASSET',
        threshold: '0.004',
        durationMs: 7 * minuteMs,
      }),
      aLimitConfig({ policyId: `${n}c`, scope: 'SMART_ACCOUNT', threshold: '3', durationMs: 15 * minuteMs }),
    ],
    webhooks:
      n === 1
        ? [{ policyId: '1w', name: 'Rules', url: 'https://rules.example', method: 'POST', onError: 'Deny' }]
        : [],
  });
/** The same without their limits. */
export const withoutLimits = [
  ofPaymaster(0, '1.1.0'),
  ofPaymaster(1, 'hybrid-0.9'),
  ofPaymaster(2, 'singleton-0.7'),
].map((config) => ({ ...config, limits: [] }));
/** With limits that fill and cycles that turn; the second one asks a webhook, and its contract reads a tail. */
export const limitedPaymasters = [
  ofPaymaster(0, '1.1.0'),
  ofPaymaster(1, 'hybrid-0.9'),
  ofPaymaster(2, 'singleton-0.7'),
];
