import { Interface } from 'ethers';
import { hashCredential } from '../../core/config/api-key.js';
import type { ChainConfig } from '../../core/config/chain-config.js';
import type { LimitConfig } from '../../core/policy/spending-limit/schema.js';
import type { PaymasterConfig } from '../../core/config/paymaster-config.js';
import { parseAddress } from '../../core/units/address.js';
import type { EpochMs } from '../../core/units/time.js';
import {
  apiKeyOf,
  chainId,
  entryPoint,
  feeTokenOf,
  paymaster,
  sponsoredAbi,
  sponsoredContract,
  sponsoredMethod,
  walletOf,
  type Wallets,
} from './fixture.js';

/** The configs of the bench, as an operator would have compiled them. */
export function benchChainConfig(tokens = 0): ChainConfig {
  return {
    chainId,
    objectName: 'bench',
    configGeneration: 1,
    suspended: false,
    rpc: { urls: ['http://127.0.0.1:1'] },
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    confirmations: 12,
    delegates: [],
    gas: {},
    profiles: [
      {
        version: '1.1.0',
        layout: 'vendor-1.1.0',
        entryPoint: parseAddress(entryPoint),
        sponsorship: parseAddress(paymaster),
        // A budget that no run can fill: the bench measures the work, not the refusal.
        ...(tokens === 0 ? {} : { token: parseAddress(paymaster), tokenLossBudget: '9000000' }),
        signerFile: 'bench',
        options: { priceMarkup: 1_000_000, unaccountedGas: 50_000 },
      },
    ],
    feeTokens: Array.from({ length: tokens }, (_, index) => ({
      chainId,
      address: feeTokenOf(index),
      symbol: 'USDC',
      decimals: 6,
      price: { static: { rate: '3000000000', usdPerNative: '3000' } },
      premiumPercentage: '7.5',
    })),
  };
}

export type PaymasterShape = { readonly limits: number; readonly wallets: Wallets };

/** The n-th paymaster: one contract, and `limits` spending limits of all four kinds in turn. */
export function benchPaymasterConfig(index: number, shape: PaymasterShape, now: EpochMs): PaymasterConfig {
  const id = uuid('a', index);
  const selector = new Interface(sponsoredAbi).getFunction(sponsoredMethod)?.selector ?? '';
  return {
    paymasterId: id,
    namespace: `organisation-${index % 100}`,
    objectName: `paymaster-${index}`,
    name: `Paymaster ${index}`,
    chainId,
    version: '1.1.0',
    configGeneration: 1,
    suspended: false,
    keys: [{ sha256: hashCredential(apiKeyOf(index)) }],
    tokens: [],
    fundingAddress: parseAddress(walletOf(index, shape.wallets)),
    defaultContractAction: 'Deny',
    contractsRegistered: true,
    contracts: [{ name: 'store', address: parseAddress(sponsoredContract), selectors: [selector] }],
    limits: Array.from({ length: shape.limits }, (_, place) => benchLimit(index * 16 + place, place, now)),
    webhooks: [],
    walletDeployment: false,
    invalidPolicies: [],
    gas: {},
    maxExpirySeconds: 7200,
  };
}

function benchLimit(number: number, place: number, now: EpochMs): LimitConfig {
  const isPerSender = place % 2 === 0;
  const isCount = place % 4 < 2;
  return {
    policyId: uuid('b', number),
    name: `limit ${place}`,
    scope: isPerSender ? 'SMART_ACCOUNT' : 'PAYMASTER',
    thresholdType: isCount === isPerSender ? 'COUNT' : 'NATIVE_ASSET',
    threshold: '1000000',
    startMs: now,
    durationMs: 86_400_000,
  };
}

function uuid(kind: string, number: number): string {
  return `${kind.repeat(8)}-0000-4000-8000-${number.toString(16).padStart(12, '0')}`;
}
