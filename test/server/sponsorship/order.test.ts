import { expect, test } from '@jest/globals';
import type { ChainConfig } from '../../../core/config/chain-config.js';
import type { PaymasterConfig } from '../../../core/config/paymaster-config.js';
import { DomainError, isDomainError } from '../../../core/errors.js';
import { silentLogger } from '../../../core/log.js';
import { noMetrics } from '../../../core/metrics.js';
import type { ReserveResult } from '../../../core/usage/reserve-request.js';
import type { UsageStore } from '../../../core/usage/usage-store.js';
import type { HostOutcome } from '../../../core/policy/policy-hosts.js';
import type { Estimate } from '../../../core/userop/estimator.js';
import { parseUserOperation } from '../../../core/userop/parse.js';
import { createInstruments } from '../../../server/ops/instruments.js';
import type { Sponsorship } from '../../../server/decision/request.js';
import { createSigningBatch } from '../../../server/decision/sign/signing-batch.js';
import { createSponsor, type SignDeps, type Sponsor } from '../../../server/decision/sign/sign.js';
import { sponsoredMode, type SponsoredDeps } from '../../../server/decision/steps/sponsored.js';
import { serveChain } from '../../../server/view/served-chain.js';
import { servePaymaster } from '../../../server/view/served-paymaster.js';
import { createSharing } from '../../../server/view/sharing.js';
import {
  addressOf,
  aChainConfig,
  aLimitConfig,
  aPaymasterConfig,
  aProfileConfig,
  someNow,
} from '../../build/configs.js';
import { anOperation, execute, type WireOperation } from '../../build/operations.js';
import { signsBy } from '../../build/signing.js';
import { noDelegates } from '../../build/delegates.js';

/** Everything that a decision depends on. The values that an obstacle does not change let the operation pass. */
type Scenario = {
  paymaster: PaymasterConfig;
  chain: Partial<ChainConfig>;
  operation: WireOperation;
  isStale: boolean;
  peek: ReserveResult;
  estimate: () => Promise<Estimate>;
  webhook: HostOutcome;
  reserve: ReserveResult;
};

type Obstacle = {
  readonly name: string;
  /** The refusal's reason, or the error's. */
  readonly reason: string;
  readonly put: (scenario: Scenario) => void;
  /** Obstacles that exclude each other. */
  readonly kind?: 'callData';
};

const full: ReserveResult = { outcome: 'limit', index: 0, used: 1000 };

/** In the order in which a decision meets them. */
const obstacles: readonly Obstacle[] = [
  {
    name: 'configs that are out of date',
    reason: 'CONFIG_STALE',
    put: (s) => (s.isStale = true),
  },
  {
    name: 'a paymaster that is not ready',
    reason: 'FundingNotProven',
    put: (s) => (s.paymaster = { ...s.paymaster, notReady: { reason: 'FundingNotProven', message: 'no' } }),
  },
  {
    name: 'suspension',
    reason: 'SUSPENDED',
    put: (s) => (s.paymaster = { ...s.paymaster, suspended: true }),
  },
  {
    name: 'no wallet that pays',
    reason: 'NOT_FUNDED',
    put: (s) => {
      const { fundingAddress: _none, ...paymaster } = s.paymaster;
      s.paymaster = paymaster;
    },
  },
  {
    name: 'an invalid policy',
    reason: 'POLICY_INVALID',
    put: (s) => (s.paymaster = { ...s.paymaster, invalidPolicies: ['Broken'] }),
  },
  {
    name: 'a call that is not registered',
    reason: 'CONTRACT_NOT_REGISTERED',
    kind: 'callData',
    put: (s) => (s.operation = { ...s.operation, callData: execute(addressOf(0xdead)) }),
  },
  {
    name: 'a deployment that is not permitted',
    reason: 'DEPLOYMENT_NOT_ALLOWED',
    kind: 'callData',
    put: (s) => (s.operation = { ...s.operation, callData: '0x', initCode: `0x${'11'.repeat(20)}` }),
  },
  {
    name: 'a factory that is not listed',
    reason: 'FACTORY_NOT_ALLOWED',
    put: (s) => {
      s.operation = { ...s.operation, initCode: `0x${'22'.repeat(20)}` };
      s.chain = { ...s.chain, accountFactories: [addressOf(9)] };
    },
  },
  {
    name: 'a delegate that is not listed',
    reason: 'DELEGATE_NOT_ALLOWED',
    put: (s) => {
      const eip7702Auth = { address: addressOf(7), chainId: 1, nonce: 0, r: 1, s: 1, yParity: 0 };
      s.operation = { ...s.operation, eip7702Auth };
    },
  },
  {
    name: 'an authorization by somebody else',
    reason: 'AUTHORIZATION_INVALID',
    put: (s) => {
      const eip7702Auth = { address: addressOf(8), chainId: 31_337, nonce: 0, r: 1, s: 1, yParity: 0 };
      s.operation = { ...s.operation, eip7702Auth };
      s.chain = { ...s.chain, delegates: [addressOf(8)] };
    },
  },
  {
    name: 'a fee above its cap',
    reason: 'FEE_TOO_HIGH',
    put: (s) => (s.operation = { ...s.operation, maxFeePerGas: 51_000_000_000 }),
  },
  {
    name: 'a tip below what the chain asks for',
    reason: 'PRIORITY_FEE_TOO_LOW',
    put: (s) => (s.chain = { ...s.chain, minPriorityFeePerGas: '2500000000' }),
  },
  { name: 'a limit that is full already', reason: 'LIMIT_REACHED', put: (s) => (s.peek = full) },
  {
    name: 'an operation that cannot be simulated',
    reason: 'ESTIMATION_FAILED',
    put: (s) => (s.estimate = () => Promise.reject(new DomainError('ESTIMATION_FAILED', 'AA23 reverted'))),
  },
  {
    name: 'estimates above a cap',
    reason: 'GAS_LIMIT_TOO_HIGH',
    put: (s) => {
      const estimate = s.estimate;
      s.estimate = async () => ({ ...(await estimate()), callGasLimit: 10_000_001n });
    },
  },
  {
    name: 'a webhook that refuses',
    reason: 'WEBHOOK_REFUSED',
    put: (s) => (s.webhook = { verdict: 'refused' }),
  },
  {
    name: 'a deposit that became too low',
    reason: 'DEPOSIT_TOO_LOW',
    put: (s) => (s.reserve = { outcome: 'deposit', index: 0, balance: 1, reserved: 1 }),
  },
];

const pairs = obstacles.flatMap((first, index) =>
  obstacles
    .slice(index + 1)
    .filter((second) => first.kind === undefined || first.kind !== second.kind)
    .map((second) => ({ first, second, earlier: first.name, later: second.name, reason: first.reason })),
);

test.each(obstacles)('$name alone decides: $reason', async (obstacle) => {
  expect(await decide([obstacle])).toBe(obstacle.reason);
});

test.each(pairs)('$earlier comes before $later: $reason', async ({ first, second, reason }) => {
  // Applied in either order, since only the order of the decision counts.
  expect(await decide([second, first])).toBe(reason);
});

test('without an obstacle the operation is sponsored', async () => {
  expect(await decide([])).toBe('sponsored');
});

async function decide(present: readonly Obstacle[]): Promise<string> {
  const scenario: Scenario = {
    paymaster: aPaymasterConfig({
      limits: [aLimitConfig()],
      webhooks: [{ policyId: 'w', name: 'Rules', url: 'https://a.example', method: 'POST', onError: 'Deny' }],
    }),
    chain: {},
    operation: anOperation(),
    isStale: false,
    peek: { outcome: 'reserved' },
    estimate: () =>
      Promise.resolve({ callGasLimit: 1n, verificationGasLimit: 100_000n, preVerificationGas: 50_000n }),
    webhook: { verdict: 'verified' },
    reserve: { outcome: 'reserved' },
  };
  for (const obstacle of present) obstacle.put(scenario);
  const sponsor = aSponsor(aChainConfig(scenario.chain), {
    view: { isStale: () => scenario.isStale },
    usage: {
      peek: () => Promise.resolve({ result: scenario.peek, limits: [], holds: [], accounts: [] }),
      reserve: () => Promise.resolve(scenario.reserve),
    },
    estimator: { estimate: () => scenario.estimate() },
    hosts: { call: () => Promise.resolve([scenario.webhook]) },
  });
  const request = {
    op: parseUserOperation(scenario.operation, '0.6'),
    calculateGasLimits: true,
    expirySeconds: undefined,
    webhookData: {},
    requestId: 'test',
    method: 'pm_sponsorUserOperation',
  };
  try {
    const answer = await sponsor(servePaymaster(scenario.paymaster, createSharing()), request);
    return answer.outcome === 'sponsored' ? 'sponsored' : answer.refusal.reason;
  } catch (error) {
    if (!isDomainError(error)) throw error;
    return error.details.reason ?? error.code;
  }
}

test('a config that is older than the newest seen is read again once, and then used', async () => {
  const older = servePaymaster(aPaymasterConfig({ configGeneration: 1 }), createSharing());
  const newer = servePaymaster(aPaymasterConfig({ configGeneration: 2 }), createSharing());
  expect(await sponsorAs(older, newer)).toBe('sponsored');
});

test('a config that stays older is UNAVAILABLE, and the caller may retry', async () => {
  const older = servePaymaster(aPaymasterConfig({ configGeneration: 1 }), createSharing());
  expect(await sponsorAs(older, older)).toBe('CONFIG_BEHIND');
  expect(await sponsorAs(older, undefined)).toBe('CONFIG_BEHIND');
});

test('data is valid at most as long as the config in force allows, whatever an older one allowed', async () => {
  const older = servePaymaster(aPaymasterConfig({ configGeneration: 1 }), createSharing());
  const tightened = aPaymasterConfig({ configGeneration: 2, maxExpirySeconds: 100 });
  const newer = servePaymaster(tightened, createSharing());
  const validUntil = someNow / 1000 + 100;
  expect(await answerAs(older, newer, 600)).toMatchObject({ outcome: 'sponsored', validUntil });
});

async function sponsorAs(
  paymaster: ReturnType<typeof servePaymaster>,
  refreshed: ReturnType<typeof servePaymaster> | undefined,
): Promise<string> {
  try {
    return (await answerAs(paymaster, refreshed)).outcome;
  } catch (error) {
    if (!isDomainError(error)) throw error;
    return error.details.reason ?? error.code;
  }
}

/** Against a store that has seen generation 2. */
async function answerAs(
  paymaster: ReturnType<typeof servePaymaster>,
  refreshed: ReturnType<typeof servePaymaster> | undefined,
  expirySeconds?: number,
): Promise<Sponsorship> {
  const judge = (generation: number): ReserveResult =>
    generation < 2 ? { outcome: 'stale', id: 'the paymaster' } : { outcome: 'reserved' };
  const sponsor = aSponsor(aChainConfig({ profiles: [aProfileConfig()] }), {
    view: { refresh: () => Promise.resolve(refreshed) },
    usage: {
      peek: ({ fences }) =>
        Promise.resolve({
          result: judge(fences[0]?.generation ?? 0),
          limits: [],
          holds: [],
          accounts: [],
        }),
      reserve: ({ fences }) => Promise.resolve(judge(fences[0]?.generation ?? 0)),
    },
  });
  const request = {
    op: parseUserOperation(anOperation(), '0.6'),
    calculateGasLimits: false,
    expirySeconds,
    webhookData: {},
    requestId: 'test',
    method: 'pm_sponsorUserOperation',
  };
  return sponsor(paymaster, request);
}

/** A sponsor on one chain. It asks only the parties that a test names. */
function aSponsor(
  config: ChainConfig,
  {
    view,
    usage,
    ...asked
  }: Partial<Pick<SponsoredDeps, 'estimator' | 'hosts'>> & {
    readonly view: Partial<SignDeps['view'] & SponsoredDeps['view']>;
    readonly usage: Pick<UsageStore, 'peek' | 'reserve'>;
  },
): Sponsor {
  const signer = {
    address: addressOf(1),
    implementation: 'test',
    sign: signsBy(() => new Uint8Array(65).fill(27)),
  };
  const chain = serveChain(config, { get: () => signer, recover: () => addressOf(1) }, silentLogger);
  const head = {
    number: 1,
    timestamp: someNow / 1000,
    baseFeePerGas: 1_000_000_000n,
    priorityFeePerGas: 1_000_000_000n,
    observedAt: someNow,
  };
  const deps = {
    view: {
      chain: () => chain,
      isStale: () => false,
      addressList: () => undefined,
      refresh: () => Promise.resolve(undefined),
      isCurrent: () => true,
      ...view,
    },
    heads: { get: () => head },
    dataFees: { get: () => undefined },
    prices: { peek: () => undefined },
    usage: { ...usage, now: () => someNow, capacity: () => Number.POSITIVE_INFINITY },
    estimator: { estimate: () => Promise.reject(new Error('not asked')) },
    delegates: noDelegates,
    hosts: { call: () => Promise.reject(new Error('not asked')) },
    signing: createSigningBatch({ instruments: createInstruments(noMetrics) }),
    clock: { now: () => someNow },
    ...asked,
  };
  return createSponsor(deps, sponsoredMode(deps));
}
