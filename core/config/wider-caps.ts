import { platformCaps } from '../policy/rules/price-guard/compile.js';
import { finding, type Finding } from '../meta/conditions.js';
import type { GasCaps } from '../policy/rules/price-guard/gas-caps.js';
import type { PaymasterSpec } from '../resources/paymaster.js';
import type { RateLimit, RateLimits } from '../resources/schema-parts.js';
import type { ChainConfig } from './chain-config.js';
import { defaultMaxExpirySeconds } from './expiry.js';
import { isWider } from './rate-limits.js';

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
