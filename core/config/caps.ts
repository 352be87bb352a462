import { platformCaps } from '../policy/rules/price-guard/compile.js';
import { finding, type Finding } from '../meta/conditions.js';
import type { GasCaps } from '../policy/rules/price-guard/gas-caps.js';
import type { PaymasterSpec } from '../resources/paymaster.js';
import type { RateLimit, RateLimits } from '../resources/schema-parts.js';
import type { ChainConfig } from './chain-config.js';

type PlatformCaps = Pick<ChainConfig, 'gas' | 'maxExpirySeconds' | 'rateLimit'>;

/** Unit of each cap. `or`: what a floating default comes to when that is more than its minimum. */
const gasCaps: readonly {
  readonly name: keyof GasCaps;
  readonly unit: 'wei' | 'gas';
  readonly or?: string;
}[] = [
  { name: 'maxFeePerGas', unit: 'wei', or: '3 times the latest base fee' },
  { name: 'maxPriorityFeePerGas', unit: 'wei', or: "3 times the network's tip" },
  { name: 'maxCallGasLimit', unit: 'gas' },
  { name: 'maxVerificationGasLimit', unit: 'gas' },
  { name: 'maxDeploymentGas', unit: 'gas' },
  { name: 'maxPreVerificationGas', unit: 'gas', or: 'twice our own figure' },
  { name: 'maxOperationGas', unit: 'gas' },
  { name: 'maxUnusedGasFee', unit: 'wei', or: 'the price of 150000 gas at the latest base fee' },
];

/**
 * Reports which caps of a Paymaster have no effect because the platform's are tighter; undefined when all of them
 * have an effect. For a floating default this compares its minimum: a cap between the minimum and the current value
 * has an effect now although it is reported.
 */
export function widerCaps(
  spec: Pick<PaymasterSpec, 'gas' | 'maxExpirySeconds' | 'rateLimit'>,
  chain: PlatformCaps | undefined,
): Finding | undefined {
  const wider = [
    ...widerGas(spec.gas ?? {}, chain?.gas ?? {}),
    ...widerExpiry(spec.maxExpirySeconds, chain?.maxExpirySeconds ?? defaultMaxExpirySeconds),
    ...widerRates(spec.rateLimit ?? {}, chain?.rateLimit ?? {}),
  ];
  if (wider.length === 0) return undefined;
  return finding('CapsLimited', 'WiderThanPlatform', `The platform's caps count: ${wider.join('; ')}.`);
}

function widerGas(own: GasCaps, chain: GasCaps): readonly string[] {
  return gasCaps.flatMap(({ name, unit, or }) => {
    const value = own[name];
    if (value === undefined) return [];
    const fixed = chain[name];
    const platform = fixed === undefined ? platformCaps[name] : BigInt(fixed);
    if (BigInt(value) <= platform) return [];
    const floating = fixed === undefined && or !== undefined ? ` (or ${or}, where that is more)` : '';
    return [`spec.gas.${name} is ${value} ${unit}, the platform allows ${platform}${floating}`];
  });
}

function widerExpiry(own: number | undefined, platform: number): readonly string[] {
  if (own === undefined || own <= platform) return [];
  return [`spec.maxExpirySeconds is ${own}, the platform allows ${platform}`];
}

function widerRates(own: RateLimits, chain: RateLimits): readonly string[] {
  return (['perKey', 'perClient'] as const).flatMap((name) => {
    const [limit, platform] = [own[name], chain[name]];
    if (limit === undefined || platform === undefined || !isWider(limit, platform)) return [];
    return [`spec.rateLimit.${name} is ${rate(limit)}, the platform allows ${rate(platform)}`];
  });
}

function rate({ requests, perSeconds }: RateLimit): string {
  return `${requests} requests per ${perSeconds} s`;
}

/** The tighter of the Paymaster's and the Chain's limits; undefined when neither sets one. */
export function tighterLimits(
  paymaster: RateLimits | undefined,
  chain: RateLimits | undefined,
): RateLimits | undefined {
  if (paymaster === undefined || chain === undefined) return paymaster ?? chain;
  const perKey = tighter(paymaster.perKey, chain.perKey);
  const perClient = tighter(paymaster.perClient, chain.perClient);
  return { ...(perKey && { perKey }), ...(perClient && { perClient }) };
}

/** Whether `limit` allows a larger burst or a higher rate than the other. */
function isWider(limit: RateLimit, than: RateLimit): boolean {
  return limit.requests > than.requests || requestsPerSecond(limit) > requestsPerSecond(than);
}

/**
 * The smaller burst at the lower rate, so that requests exceed neither limit; `perSeconds` need not be a whole
 * number.
 */
function tighter(a: RateLimit | undefined, b: RateLimit | undefined): RateLimit | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  if (!isWider(a, b)) return a;
  const requests = Math.min(a.requests, b.requests);
  return { requests, perSeconds: requests / Math.min(requestsPerSecond(a), requestsPerSecond(b)) };
}

function requestsPerSecond({ requests, perSeconds }: RateLimit): number {
  return requests / perSeconds;
}

/** How long signed data may be valid, in seconds, when the Chain does not say. */
export const defaultMaxExpirySeconds = 600;

/** The shorter of the Paymaster's and the Chain's `maxExpirySeconds`. */
export function shorterExpiry(
  paymaster: number | undefined,
  chain: number = defaultMaxExpirySeconds,
): number {
  return paymaster === undefined ? chain : Math.min(paymaster, chain);
}
