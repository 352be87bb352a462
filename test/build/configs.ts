import { hash } from 'node:crypto';
import type { ChainConfig, ProfileConfig } from '../../core/config/chain-config.js';
import type { LimitConfig } from '../../core/policy/spending-limit/schema.js';
import type { PaymasterConfig } from '../../core/config/paymaster-config.js';
import { entryPoints } from '../../core/entry-point/address.js';
import type { LayoutId } from '../../core/paymaster/layout.js';
import type { OpenZeppelinOptions } from '../../core/paymaster/openzeppelin/options.js';
import { layouts } from '../../core/paymaster/layouts.js';
import { parseAddress, type Address } from '../../core/units/address.js';
import type { EpochMs } from '../../core/units/time.js';

/** Builders of compiled configs: a test states only what matters to it. */

export const someChainId = 31337;
export const someApiKey = 'aB3_x-9Zq.3f6c1c0a-7d7e-4f41-9a55-0f5e8f3b2c11';
export const someToken = 'acme-token-0123456789';
export const someNow = Date.parse('2026-03-01T12:00:00.000Z') as EpochMs;
export const someFunding = parseAddress(`0x${'f0'.repeat(20)}`);
/** The example paymaster sponsors `mint(address)` of this contract. */
export const someTarget = parseAddress(`0x${'7a'.repeat(20)}`);
export const mintSelector = '0x6a627842';
const signerFile = 'dev.key';

export function sha256(text: string): string {
  return hash('sha256', text, 'hex');
}

/** A stable address that stands for something by its number. */
export function addressOf(n: number): Address {
  return parseAddress(`0x${n.toString(16).padStart(40, '0')}`);
}

/** Every layout, each under its own version. */
const layoutOfVersion: Readonly<Record<string, LayoutId>> = {
  '1.1.0': 'vendor-1.1.0',
  '1.0.0': 'vendor-1.1.0',
  '2.0.0': 'vendor-2.x',
  'singleton-0.6': 'singleton-0.6',
  'singleton-0.7': 'singleton-0.7',
  'singleton-0.8': 'singleton-0.8',
  'verifying-0.7': 'verifying-0.7',
  'verifying-0.9': 'verifying-0.9',
  'hybrid-0.9': 'hybrid-0.9',
  'openzeppelin-0.8': 'openzeppelin-0.8',
  'openzeppelin-0.9': 'openzeppelin-0.9',
};

const openZeppelin: OpenZeppelinOptions = {
  domainName: 'MyPaymasterECDSASigner',
  domainVersion: '1',
  initCodeHash: 'AsGiven',
  readsPaymasterSignature: false,
};

export const someVersions = Object.keys(layoutOfVersion);

export function aProfileConfig(version = '1.1.0', overrides: Partial<ProfileConfig> = {}): ProfileConfig {
  const layout = layoutOfVersion[version] ?? 'vendor-1.1.0';
  const index = Object.values(layoutOfVersion).indexOf(layout);
  return {
    version,
    layout,
    entryPoint: entryPoints[layouts[layout].entryPointVersion],
    sponsorship: addressOf(0xc000 + index),
    signerFile,
    options: {
      priceMarkup: 1_000_000,
      unaccountedGas: 50_000,
      ...(layout.startsWith('openzeppelin') ? { openZeppelin } : {}),
    },
    ...overrides,
  };
}

export function aChainConfig(overrides: Partial<ChainConfig> = {}): ChainConfig {
  return {
    chainId: someChainId,
    objectName: 'dev',
    configGeneration: 0,
    suspended: false,
    rpc: { urls: ['http://127.0.0.1:1'] },
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    confirmations: 1,
    delegates: [],
    gas: {},
    profiles: someVersions.map((version) => aProfileConfig(version)),
    feeTokens: [],
    ...overrides,
  };
}

/** A funded paymaster that sponsors `mint(address)` of {@link someTarget}. */
export function aPaymasterConfig(overrides: Partial<PaymasterConfig> = {}): PaymasterConfig {
  return {
    paymasterId: '7a1c7c2e-1111-5222-8333-444455556666',
    namespace: 'acme',
    objectName: 'shop',
    name: 'Shop',
    chainId: someChainId,
    version: '1.1.0',
    configGeneration: 0,
    suspended: false,
    keys: [{ sha256: sha256(someApiKey) }],
    tokens: [{ sha256: sha256(someToken) }],
    fundingAddress: someFunding,
    defaultContractAction: 'Deny',
    contractsRegistered: true,
    contracts: [{ name: 'Coin', address: someTarget, selectors: [mintSelector] }],
    limits: [],
    webhooks: [],
    walletDeployment: false,
    invalidPolicies: [],
    gas: {},
    maxExpirySeconds: 7200,
    ...overrides,
  };
}

export function aLimitConfig(overrides: Partial<LimitConfig> = {}): LimitConfig {
  return {
    policyId: '1d1d1d1d-1111-5222-8333-444455556666',
    name: 'Daily',
    scope: 'PAYMASTER',
    thresholdType: 'COUNT',
    threshold: '1000',
    startMs: someNow,
    durationMs: 86_400_000,
    ...overrides,
  };
}
