import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { ErrorReason } from '../../../core/error-reasons.js';
import { DomainError, isDomainError } from '../../../core/errors.js';
import { silentLogger } from '../../../core/log.js';
import { noMetrics } from '../../../core/metrics.js';
import { priced, refused } from '../../../core/pricing/price-source.js';
import { pass, refuse } from '../../../core/refusal.js';
import type { TokenPaymentRequest } from '../../../core/paymaster/token-payment-checker.js';
import { toAddressKey } from '../../../core/units/address.js';
import type { ReserveRequest, ReserveResult } from '../../../core/usage/reserve-request.js';
import type { EstimateRequest } from '../../../core/userop/estimator.js';
import { parseUserOperation } from '../../../core/userop/parse.js';
import { createExplain } from '../../../server/decision/show/explain.js';
import { tokenMode } from '../../../server/decision/token/in-tokens.js';
import type { Sponsorship } from '../../../server/decision/request.js';
import type { Trace } from '../../../server/decision/run.js';
import { createSigningBatch } from '../../../server/decision/sign/signing-batch.js';
import { createSponsor } from '../../../server/decision/sign/sign.js';
import { sponsoredMode } from '../../../server/decision/steps/sponsored.js';
import { createStub } from '../../../server/decision/sign/stub.js';
import { createInstruments } from '../../../server/ops/instruments.js';
import { serveChain } from '../../../server/view/served-chain.js';
import { servePaymaster } from '../../../server/view/served-paymaster.js';
import { createSharing } from '../../../server/view/sharing.js';
import {
  addressOf,
  aChainConfig,
  aLimitConfig,
  aPaymasterConfig,
  someFunding,
  someNow,
  someTarget,
} from '../../build/configs.js';
import { aPrice, aTokenProfile, someTokenAccount, usdx } from '../../build/fee-tokens.js';
import { anOperation, anOperationWithoutLimits, execute } from '../../build/operations.js';
import { allRuns, runs } from '../../support/property.js';
import { signsBy } from '../../build/signing.js';
import { noDelegates } from '../../build/delegates.js';

// The three ways to run the steps of a mode agree, for every obstacle.

/** Mostly values that pass, so that most decisions reach their later steps. */
function mostly<T>(usual: T, ...others: readonly T[]): fc.Arbitrary<T> {
  return fc.oneof(
    { arbitrary: fc.constant(usual), weight: 25 },
    ...others.map((other) => ({ arbitrary: fc.constant(other), weight: 1 })),
  );
}

const authorization = (delegate: number, chainId: number) => ({
  address: addressOf(delegate),
  chainId,
  nonce: 0,
  r: 1,
  s: 1,
  yParity: 0,
});

const situations = fc.record({
  version: fc.constantFrom('1.1.0', '2.0.0', 'singleton-0.7', 'singleton-0.8', 'verifying-0.7'),
  givesLimits: fc.boolean(),
  asksForLimits: fc.constantFrom(undefined, true),
  callData: mostly(
    execute(),
    execute(addressOf(0xdead)),
    execute(someTarget, '0xdeadbeef'),
    '0x',
    '0x12345678',
  ),
  initCode: mostly('0x', `0x${'22'.repeat(20)}`),
  eip7702Auth: mostly(undefined, authorization(7, 31_337), authorization(8, 31_337), authorization(8, 1)),
  maxFeePerGas: mostly(2_000_000_000, 51_000_000_000),
  callGasLimit: mostly(100_000, 2_000_000, 10_000_001),
  verificationGasLimit: mostly(200_000, 1_000),
  preVerificationGas: mostly(60_000, 3_000_000),
  isPaymasterSuspended: mostly(false, true),
  isChainSuspended: mostly(false, true),
  isFunded: mostly(true, false),
  hasInvalidPolicy: mostly(false, true),
  hasFactories: mostly(false, true),
  isStale: mostly(false, false, true),
  webhooks: fc.constantFrom(0, 1, 2),
  onError: fc.constantFrom('Allow' as const, 'Deny' as const),
  webhook: mostly('verified', 'refused', 'failed', 'blocked', 'busy'),
  estimate: mostly('found', 'reverts', 'huge', 'fails', 'is unavailable'),
  // What the estimator says before it has confirmed the limits.
  found: fc.constantFrom('nothing', 'the estimate', 'raised limits'),
  limitLeft: mostly(1_000_000_000, 5, 900_000, 1_600_000),
  depositLeft: mostly(1_000_000_000, 5, 900_000, 1_600_000),
  fullHold: mostly(-1, 0, 1, 2, 3, 4),
  isBarred: mostly(false, true),
  isStoreDown: mostly(false, true),
  token: mostly('served', 'missing', 'not served'),
  price: mostly('fresh', 'stale', 'huge'),
  isSecured: fc.boolean(),
  requiresAllowance: mostly(false, true),
  holding: fc.constantFrom(0n, 10n ** 30n),
  payment: mostly('pays', 'fails', 'is unavailable'),
});
type Situation = typeof situations extends fc.Arbitrary<infer T> ? T : never;

const unavailable = (reason: ErrorReason): DomainError =>
  new DomainError('UNAVAILABLE', 'not now', { reason });

function decisionOf(at: Situation) {
  const paymaster = servePaymaster(
    aPaymasterConfig({
      version: at.version,
      suspended: at.isPaymasterSuspended,
      invalidPolicies: at.hasInvalidPolicy ? ['Broken'] : [],
      limits: [aLimitConfig({ thresholdType: 'NATIVE_ASSET', threshold: '1' })],
      webhooks: Array.from({ length: at.webhooks }, (_, index) => ({
        policyId: `w${index}`,
        name: `Rules ${index}`,
        url: 'https://rules.example',
        method: 'POST',
        onError: at.onError,
      })),
      ...(at.isFunded ? { fundingAddress: someFunding } : {}),
    }),
    createSharing(),
  );
  const signer = {
    address: addressOf(1),
    implementation: 'test',
    sign: signsBy(() => new Uint8Array(65).fill(27)),
  };
  const chain = serveChain(
    aChainConfig({
      suspended: at.isChainSuspended,
      delegates: [addressOf(8)],
      feeTokens: [usdx],
      profiles: [
        { ...aTokenProfile(at.version), tokenSecured: at.isSecured, requireAllowance: at.requiresAllowance },
      ],
      ...(at.hasFactories ? { accountFactories: [addressOf(9)] } : {}),
    }),
    { get: () => signer, recover: () => addressOf(0xa11ce) },
    silentLogger,
  );
  const { entryPointVersion } = chain.profiles.get(at.version)!;
  const given = {
    callGasLimit: at.callGasLimit,
    verificationGasLimit: at.verificationGasLimit,
    preVerificationGas: at.preVerificationGas,
  };
  const operation = {
    ...(at.givesLimits ? anOperation(given) : anOperationWithoutLimits()),
    callData: at.callData,
    initCode: at.initCode,
    maxFeePerGas: at.maxFeePerGas,
    ...(at.eip7702Auth === undefined ? {} : { eip7702Auth: at.eip7702Auth }),
  };
  const fee = {
    served: toAddressKey(usdx.address as `0x${string}`),
    missing: undefined,
    'not served': toAddressKey(addressOf(1)),
  };
  const request = {
    op: parseUserOperation(operation, entryPointVersion),
    calculateGasLimits: at.asksForLimits,
    expirySeconds: undefined,
    webhookData: {},
    requestId: 'test',
    method: 'pm_sponsorUserOperation',
    feeToken: fee[at.token as keyof typeof fee],
  };
  const deps = {
    view: {
      chain: () => chain,
      isStale: () => false,
      addressList: () => undefined,
      refresh: () => Promise.resolve(at.isStale ? undefined : paymaster),
      isCurrent: () => true,
    },
    dataFees: { get: () => undefined },
    heads: {
      get: () => ({
        number: 1,
        timestamp: someNow / 1000,
        baseFeePerGas: 1_000_000_000n,
        priorityFeePerGas: 1_000_000_000n,
        observedAt: someNow,
      }),
    },
    usage: {
      now: () => someNow,
      capacity: () => Number.POSITIVE_INFINITY,
      reserve: async (asked: ReserveRequest) => judge(at, asked),
      peek: async (asked: ReserveRequest) => ({
        result: judge(at, asked),
        limits: [],
        holds: [],
        accounts: [],
      }),
    },
    estimator: {
      estimate: async ({ onCandidates }: EstimateRequest) => {
        if (at.estimate === 'fails') throw new DomainError('ESTIMATION_FAILED', 'AA23 reverted');
        if (at.estimate === 'is unavailable') throw unavailable('SIMULATIONS_BUSY');
        const limits = {
          callGasLimit: at.estimate === 'huge' ? 10_000_001n : 90_000n,
          verificationGasLimit: 150_000n,
          preVerificationGas: 50_000n,
        };
        const lower = { ...limits, callGasLimit: limits.callGasLimit - 1n };
        if (at.found === 'the estimate') onCandidates?.([limits]);
        if (at.found === 'raised limits') onCandidates?.([lower, limits]);
        return { ...limits, ...(at.estimate === 'reverts' ? { reverted: 'out of stock' } : {}) };
      },
    },
    hosts: {
      call: async () => {
        if (at.webhook === 'busy') throw unavailable('WEBHOOK_BUSY');
        return paymaster.webhooks.map(() => ({ verdict: at.webhook as 'blocked', detail: 'as it is' }));
      },
    },
    payments: {
      check: async ({ codec, op, terms }: TokenPaymentRequest) => {
        if (at.payment === 'is unavailable') throw unavailable('CHAIN_UNAVAILABLE');
        // As a contract that looks in validation does, whether it takes the tokens there or not.
        if (codec.validatesBalance === true && at.holding < codec.maxTokenCharge(op, terms))
          return refuse('TOKEN_BALANCE', 'as simulated');
        return at.payment === 'pays' ? pass : refuse('TOKEN_PAYMENT_FAILS', 'as simulated');
      },
      ground: async () => ({ block: 0, receivers: [] }),
      holdings: async () => ({ balance: at.holding, allowance: at.holding }),
    },
    prices: {
      peek: () => undefined,
      get: async () =>
        at.price === 'stale'
          ? refused({ source: 'feed', reason: 'STALE', ageSeconds: 2, maxAgeSeconds: 1 })
          : priced(aPrice(at.price === 'huge' ? { rate: 2n ** 250n } : {})),
      usdPerNative: () => undefined,
    },
    delegates: noDelegates,
    tokenAccounts: { payer: () => toAddressKey(someTokenAccount), known: () => [] },
    signing: createSigningBatch({ instruments: createInstruments(noMetrics) }),
    clock: { now: () => someNow },
  };
  return { deps, paymaster, request };
}

/** A store in which this much is left of everything, in gwei. */
function judge(at: Situation, { limits, accounts, bars, holds }: ReserveRequest): ReserveResult {
  if (at.isStoreDown) throw unavailable('USAGE_STORE_DOWN');
  if (at.isStale) return { outcome: 'stale', id: 'the paymaster' };
  if (at.isBarred && bars.length > 0) return { outcome: 'barred', index: 0, used: 9 };
  const limit = limits.findIndex(({ cost }) => cost > at.limitLeft);
  if (limit !== -1) return { outcome: 'limit', index: limit, used: 1 };
  if (at.fullHold in holds) return { outcome: 'held', index: at.fullHold, taken: 1, most: 1 };
  const account = accounts.findIndex(({ need }) => need > at.depositLeft);
  if (account !== -1) return { outcome: 'deposit', index: account, balance: at.depositLeft, reserved: 0 };
  return { outcome: 'reserved' };
}

type Answer = { readonly sponsored: boolean | null; readonly reason: string | undefined };
const yes: Answer = { sponsored: true, reason: undefined };

async function answerOf(asking: Promise<Sponsorship | string>): Promise<Answer> {
  try {
    const answer = await asking;
    if (typeof answer === 'string' || answer.outcome === 'sponsored') return yes;
    return { sponsored: false, reason: answer.refusal.reason };
  } catch (error) {
    if (!isDomainError(error)) throw error;
    return { sponsored: false, reason: error.details.reason ?? error.code };
  }
}

async function explained(asking: Promise<object>): Promise<Answer & { readonly undecided: boolean }> {
  try {
    const { stoppedBy, undecided } = (await asking) as Trace;
    const isOpen = undecided.length > 0;
    if (stoppedBy !== undefined) return { sponsored: false, reason: stoppedBy.reason, undecided: isOpen };
    return { ...yes, sponsored: isOpen ? null : true, undecided: isOpen };
  } catch (error) {
    if (!isDomainError(error)) throw error;
    return { sponsored: false, reason: error.details.reason ?? error.code, undecided: false };
  }
}

type Ways = {
  readonly sponsor: (at: Situation) => Promise<Answer>;
  readonly explain: (
    at: Situation,
    unasked?: Readonly<Record<string, string>>,
  ) => Promise<Answer & { readonly undecided: boolean }>;
  readonly stub: (at: Situation) => Promise<Answer>;
};

const ways: Readonly<Record<'SPONSORED' | 'ERC20', Ways>> = {
  SPONSORED: {
    sponsor: async (at) => {
      const { deps, paymaster, request } = decisionOf(at);
      const sponsor = createSponsor(deps, sponsoredMode(deps));
      return answerOf((async () => sponsor(paymaster, request))());
    },
    explain: (at, unasked) => {
      const { deps, paymaster, request } = decisionOf(at);
      const explain = createExplain(deps.view, sponsoredMode(deps), (_on, trace) => trace);
      return explained(explain(paymaster, request, unasked));
    },
    stub: (at) => {
      const { deps, paymaster, request } = decisionOf(at);
      const stub = createStub(sponsoredMode(deps), { clock: deps.clock, isPayer: false });
      return answerOf(stub(paymaster, request));
    },
  },
  ERC20: {
    sponsor: async (at) => {
      const { deps, paymaster, request } = decisionOf(at);
      const sponsor = createSponsor(deps, tokenMode(deps));
      return answerOf((async () => sponsor(paymaster, request))());
    },
    explain: (at, unasked) => {
      const { deps, paymaster, request } = decisionOf(at);
      const explain = createExplain(deps.view, tokenMode(deps), (_on, trace) => trace);
      return explained(explain(paymaster, request, unasked));
    },
    stub: (at) => {
      const { deps, paymaster, request } = decisionOf(at);
      const stub = createStub(tokenMode(deps), { clock: deps.clock, isPayer: true });
      return answerOf(stub(paymaster, request));
    },
  },
};

const reasons: Readonly<Record<keyof typeof ways, readonly string[]>> = {
  SPONSORED: ['LIMIT_REACHED', 'DEPOSIT_TOO_LOW', 'WEBHOOK_REFUSED', 'WEBHOOK_BUSY', 'ESTIMATION_FAILED'],
  ERC20: ['TOKEN_PAYMENT_FAILS', 'TOKEN_ALLOWANCE_REQUIRED', 'TOKEN_EXPOSURE_FULL', 'FEE_TOKEN_UNSUPPORTED'],
};

test.each(['SPONSORED', 'ERC20'] as const)(
  'mode %s: explain and the request give the same answer, for the same first reason',
  async (mode) => {
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(situations, async (at) => {
        const answer = await ways[mode].sponsor(at);
        const { undecided, ...explanation } = await ways[mode].explain(at);
        expect(undecided).toBe(false);
        expect(explanation).toEqual(answer);
        seen.add(answer.reason ?? 'signed');
      }),
      allRuns(600),
    );
    expect([...seen]).toEqual(
      expect.arrayContaining([
        'signed',
        'SUSPENDED',
        'GAS_LIMIT_TOO_HIGH',
        'CONFIG_BEHIND',
        ...reasons[mode],
      ]),
    );
  },
);

test('webhooks that are not asked: explain never says yes, and says no only where a request is refused', async () => {
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(situations, async (at) => {
      const answer = await ways.SPONSORED.sponsor(at);
      const { undecided, ...explanation } = await ways.SPONSORED.explain(at, { webhooks: 'not now' });
      if (undecided) expect(explanation.sponsored).not.toBe(true);
      else expect(explanation).toEqual(answer);
      // This is an obstacle whatever webhooks answer.
      if (explanation.sponsored === false) expect(answer.sponsored).toBe(false);
      seen.add(String(explanation.sponsored));
    }),
    runs(150, 400),
  );
  expect(seen).toEqual(new Set(['true', 'false', 'null']));
});

test.each(['SPONSORED', 'ERC20'] as const)(
  'mode %s: a request is refused for every reason for which a stub is refused',
  async (mode) => {
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(situations, async (at) => {
        const stub = await ways[mode].stub(at);
        seen.add(stub.reason ?? 'given');
        if (stub.sponsored === true) return;
        const answer = await ways[mode].sponsor({ ...at, asksForLimits: true, eip7702Auth: at.eip7702Auth });
        // What the account holds is looked at last of all before a signature, after what a stub does not ask.
        if (stub.reason === 'TOKEN_BALANCE') expect(answer.sponsored).not.toBe(true);
        else expect(answer).toEqual(stub);
      }),
      runs(100, 200),
    );
    expect([...seen]).toEqual(expect.arrayContaining(['given', 'SUSPENDED']));
  },
);
