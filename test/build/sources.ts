import { compileChain } from '../../core/config/compile-chain.js';
import type { LayoutFacts } from '../../core/config/compile-chain.js';
import { openPlatform } from '../../core/config/platform.js';
import type { PaymasterSources } from '../../core/config/sources.js';
import { readMethodsInParts } from '../../core/resources/abi.js';
import type { EpochMs } from '../../core/units/time.js';
import { aChain, aPaymaster, anOrganisation } from './resources.js';

export const someLayouts: LayoutFacts = {
  'vendor-1.1.0': { entryPointVersion: '0.6', sponsorship: {}, token: { namesTreasury: false } },
  'vendor-2.x': { entryPointVersion: '0.7', sponsorship: {}, token: { namesTreasury: false } },
  'singleton-0.7': { entryPointVersion: '0.7', sponsorship: {}, token: { namesTreasury: true } },
  'verifying-0.7': { entryPointVersion: '0.7', sponsorship: {}, token: undefined },
};

export const someNow = Date.parse('2026-02-01T00:00:00.000Z') as EpochMs;

/** Sources of a paymaster that has all it needs; `siblings` default to itself. */
export function someSources(overrides: Partial<PaymasterSources> = {}): PaymasterSources {
  const paymaster = overrides.paymaster ?? aPaymaster();
  return {
    paymaster,
    contracts: [],
    policies: [],
    organisation: anOrganisation(),
    platform: openPlatform,
    siblings: [paymaster],
    programmed: new Set(),
    chain: compileChain({ chain: aChain(), feeTokens: [], layouts: someLayouts, previous: undefined }).config,
    offeredChains: [31337],
    masterKeys: { current: new Uint8Array(32).fill(1) },
    previous: undefined,
    readMethods: readMethodsInParts,
    policyRules: { webhookUrls: {} },
    now: someNow,
    ...overrides,
  };
}
