import { createHash } from 'node:crypto';
import type { Chain, ChainSpec } from '../../core/resources/chain.js';
import type { ProfileSpec } from '../../core/resources/profile.js';
import type { DashboardToken } from '../../core/resources/dashboard-token.js';
import type { FeeToken } from '../../core/resources/fee-token.js';
import type { FeeTokenSpec } from '../../core/pricing/fee-token-spec.js';
import { apiVersion } from '../../core/meta/meta.js';
import type { ObjectMeta } from '../../core/meta/meta.js';
import type { Organisation, OrganisationSpec } from '../../core/resources/organisation.js';
import type {
  PaymasterPolicy,
  PaymasterPolicySpec,
  PaymasterPolicyStatus,
} from '../../core/resources/paymaster-policy.js';
import type { CountedSpec } from '../../core/policy/spending-limit/schema.js';
import type { Paymaster, PaymasterSpec, PaymasterStatus } from '../../core/resources/paymaster.js';
import type { SmartContract, SmartContractSpec } from '../../core/resources/smart-contract.js';

/** Builders of valid resources: a test states only what matters to it. */
type Meta = Partial<ObjectMeta>;

const noon = '2026-01-01T12:00:00.000Z';

function meta(name: string, namespaced: boolean, overrides: Meta): ObjectMeta {
  const own = overrides.name ?? name;
  return {
    name: own,
    ...(namespaced ? { namespace: 'acme' } : {}),
    uid: createHash('sha256').update(own).digest('hex').slice(0, 32),
    resourceVersion: '1',
    generation: 1,
    creationTimestamp: noon,
    ...overrides,
  };
}

type Built<Spec, Status> = Partial<Spec> & { readonly meta?: Meta; readonly status?: Status };

export function aPaymaster({
  meta: m = {},
  status,
  ...spec
}: Built<PaymasterSpec, PaymasterStatus> = {}): Paymaster {
  return {
    apiVersion,
    kind: 'Paymaster',
    metadata: meta('shop', true, m),
    spec: { name: 'Shop', chainId: 31337, type: 'HYBRID', version: '1.1.0', ...spec },
    ...(status === undefined ? {} : { status }),
  };
}

/** `mint(address)`, `mint(address,uint256)`, `burn(uint256)` and a view. */
export const anAbi = JSON.stringify([
  {
    type: 'function',
    name: 'mint',
    stateMutability: 'nonpayable',
    inputs: [{ type: 'address' }],
    outputs: [],
  },
  {
    type: 'function',
    name: 'mint',
    stateMutability: 'nonpayable',
    inputs: [{ type: 'address' }, { type: 'uint256' }],
    outputs: [],
  },
  {
    type: 'function',
    name: 'burn',
    stateMutability: 'nonpayable',
    inputs: [{ type: 'uint256' }],
    outputs: [],
  },
  { type: 'function', name: 'total', stateMutability: 'view', inputs: [], outputs: [{ type: 'uint256' }] },
]);

export function aSmartContract({
  meta: m = {},
  ...spec
}: Built<SmartContractSpec, never> = {}): SmartContract {
  return {
    apiVersion,
    kind: 'SmartContract',
    metadata: meta('shop-nft', true, m),
    spec: {
      paymasterRef: { name: 'shop' },
      name: 'NFT',
      address: '0x00000000000000000000000000000000000000c1',
      abi: anAbi,
      whitelistedMethods: ['burn'],
      ...spec,
    },
  };
}

export const aLimit: CountedSpec = {
  scope: 'PAYMASTER',
  cycleDuration: { value: 1, unit: 'day' },
  threshold: '10',
  thresholdType: 'COUNT',
};

export function aPolicy({
  meta: m = {},
  status,
  ...spec
}: Built<PaymasterPolicySpec, PaymasterPolicyStatus> = {}): PaymasterPolicy {
  const limit = spec.policyType === undefined ? { spendingLimit: aLimit } : {};
  return {
    apiVersion,
    kind: 'PaymasterPolicy',
    metadata: meta('shop-limit', true, m),
    spec: {
      paymasterRef: { name: 'shop' },
      name: 'Daily',
      policyType: 'PAYMASTER_SA_LIMIT',
      ...limit,
      ...spec,
    },
    ...(status === undefined ? {} : { status }),
  };
}

export function aDashboardToken(byte = 'ab'): DashboardToken {
  return {
    apiVersion,
    kind: 'DashboardToken',
    metadata: meta('on-call', true, {}),
    spec: { name: 'on call', sha256: byte.repeat(32), scopes: ['read', 'stop'] },
  };
}

export function anOrganisation({ meta: m = {}, ...spec }: Built<OrganisationSpec, never> = {}): Organisation {
  return {
    apiVersion,
    kind: 'Organisation',
    metadata: meta('acme', false, m),
    spec: { namespace: 'acme', ...spec },
  };
}

export const aProfile: ProfileSpec = {
  version: '1.1.0',
  layout: 'vendor-1.1.0',
  entryPoint: '0x5FF137D4b0FDCD49DcA30c7CF57E578a026d2789',
  addresses: { sponsorship: '0x00000f79B7FaF42EEBAdbA19aCc07cD08Af44789' },
  signer: { file: 'dev' },
  defaultFunding: { address: '0x00000000000000000000000000000000000000f1', organisations: ['*'] },
};

export function aChain({ meta: m = {}, ...spec }: Built<ChainSpec, never> = {}): Chain {
  return {
    apiVersion,
    kind: 'Chain',
    metadata: meta('dev', false, m),
    spec: {
      chainId: 31337,
      rpc: { urls: ['http://127.0.0.1:1'] },
      nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
      profiles: [aProfile],
      ...spec,
    },
  };
}

export function aFeeToken({ meta: m = {}, ...spec }: Built<FeeTokenSpec, never> = {}): FeeToken {
  return {
    apiVersion,
    kind: 'FeeToken',
    metadata: meta('dev-usd', false, m),
    spec: {
      chainId: 31337,
      address: '0x00000000000000000000000000000000000000d1',
      symbol: 'USD',
      decimals: 6,
      price: { static: { rate: '3000000000' } },
      ...spec,
    },
  };
}
