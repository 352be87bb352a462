import { digestOf } from '../../../core/paymaster/digest.js';
import type { SponsorshipTerms } from '../../../core/paymaster/layout.js';
import { sponsorshipStub } from '../../../core/paymaster/stub.js';
import { signatureToTail } from '../../../core/paymaster/tail.js';
import { decideGasLimits } from '../../../core/policy/rules/price-guard/decide.js';
import { asking, type ServedPolicies } from '../../../core/policy/derived.js';
import type { PolicyAsks } from '../../../core/policy/kind.js';
import type { HostOutcome, HostPolicy, PolicyHosts } from '../../../core/policy/policy-hosts.js';
import { pass, refuseReverted, type Verdict } from '../../../core/refusal.js';
import type { AddressKey } from '../../../core/units/address.js';
import type { Hex } from '../../../core/units/hex.js';
import { toSeconds, type EpochMs, type EpochSeconds } from '../../../core/units/time.js';
import type { UsageStore } from '../../../core/usage/usage-store.js';
import type { GasEstimator } from '../../../core/userop/estimator.js';
import { renderUserOperation } from '../../../core/userop/render.js';
import type { FinalUserOperation } from '../../../core/entry-point/user-operation.js';
import { guardOf } from '../../view/served-chain.js';
import { ownPreVerificationGas, requireDataFee, withDataFee } from './data-fee.js';
import { delegateOnChain, type Delegates } from '../delegates.js';
import type { FactDeps, RequestFacts } from '../facts.js';
import { estimateRequest, foundLimits, noLimits, withLimits } from '../gas-limits.js';
import { inRange } from './in-range.js';
import { promiseOf, type Stake } from './promise.js';
import type { SponsorRequest } from '../request.js';
import { lateRulesOfSponsored, rulesOfSponsored } from './rules.js';
import { gatherCase, noWallet, type SponsorCase } from './sponsored-case.js';
import { step, type Case, type Draft, type Finalize, type Mode } from '../step.js';
import { boundsOfGiven, decideUnused, estimateOrGiven } from './unused-gas.js';
import { peekUsage } from '../usage.js';
import { windowOf } from './window.js';

export type SponsoredDeps = FactDeps & {
  readonly usage: Pick<UsageStore, 'now' | 'peek' | 'capacity'>;
  readonly estimator: GasEstimator;
  readonly delegates: Delegates;
  readonly hosts: Pick<PolicyHosts, 'call'>;
};

type SponsoredMode = Mode<SponsorRequest, SponsorCase, SponsorshipTerms> & {
  readonly finalize: Finalize<SponsorCase, SponsorshipTerms>;
};

/**
 * Mode SPONSORED: checks on known facts (state of the paymaster, calls, deployment, prices) → a peek at limits and deposit →
 * limits by simulation, or those of the caller, and their caps → hosts of policies → reservation. The peek is left out when no slow step
 * follows it: the reservation checks the same.
 */
export function sponsoredMode(deps: SponsoredDeps): SponsoredMode {
  const { usage, estimator, hosts, delegates, clock } = deps;

  const peekAt = (on: SponsorCase, op: FinalUserOperation) =>
    peekUsage(usage, on, promiseOf(on, op, stakeOf(on, op), clock.now()));

  /**
   * Finds the limits by simulation, or compares the caller's limits with a simulation. An operation that would fail is not worth a
   * sponsor's money. An operation that is refused anyway is not simulated.
   */
  async function findLimits(on: SponsorCase): Promise<Verdict> {
    const { request, estimating } = on;
    if (!estimating) {
      const given = decideGiven(on);
      if (!given.pass) return given;
    } else requireDataFee(on);
    const stub = stubData(on);
    const asked = () => estimator.estimate(estimateRequest(on, request.op, stub));
    const estimate = await estimateOrGiven(on, on.paymasterGas, asked);
    if (estimate === undefined) return decideGiven(on);
    on.estimate = estimate;
    const found = withDataFee(on, estimate, request.op, stub);
    on.op ??= withLimits(request.op, foundLimits(request, found, boundsOfGiven(on)));
    if (estimate.reverted !== undefined) return refuseReverted(estimate.reverted, estimate.remedy);
    const bounded = estimating ? decideGas(on, on.op) : pass;
    return bounded.pass ? decideUnused(on, on.op, estimate, extraPostOp(on)) : bounded;
  }

  /**
   * Asks the hosts of policies in Shadow beside the request, which waits for none of them. Their answers count when they come: in the
   * record of the decision only if they are faster than the rest of it. Dropped where their small pool is full.
   */
  function askShadows(kind: Asks, on: SponsorCase): Verdict {
    const policies = kind.shadows(on.paymaster);
    const decide = (outcomes: readonly HostOutcome[]): void => {
      for (const [index, policy] of policies.entries()) {
        const verdict = kind.decide([policy], outcomes.slice(index, index + 1));
        if (!verdict.pass) on.shadow.note(verdict);
      }
    };
    const asked = hosts.call({ ...aboutOf(on), policies, isShadow: true }).then(decide, () => {});
    on.shadowsAsked = Promise.all([on.shadowsAsked, asked]);
    return pass;
  }

  /** Asks the hosts of all policies of a kind at once about the operation as it will be signed. */
  async function askHosts(kind: Asks, on: SponsorCase): Promise<Verdict> {
    const policies = kind.policies(on.paymaster);
    const outcomes = await hosts.call({ ...aboutOf(on), policies });
    const answered = policies.flatMap(({ policyId }, index) => {
      const outcome = outcomes[index];
      return outcome === undefined ? [] : [[policyId, outcome] as const];
    });
    on.outcomes = new Map([...(on.outcomes ?? []), ...answered]);
    return kind.decide(policies, outcomes);
  }

  const stepsOf = (kind: Asks) => {
    const lacks = ({ op }: SponsorCase) => (op === undefined ? 'The gas limits are not known.' : undefined);
    return [
      step<SponsorCase>(kind.shadowStep, (on) => askShadows(kind, on), {
        isCostly: true,
        isShadow: true,
        applies: ({ paymaster }) => kind.shadows(paymaster).length > 0,
        lacks,
      }),
      step<SponsorCase>(kind.step, (on) => askHosts(kind, on), {
        isCostly: true,
        applies: ({ paymaster }) => kind.policies(paymaster).length > 0,
        lacks,
      }),
    ];
  };

  return {
    gather: (paymaster, request) => gatherCase(deps, paymaster, request),
    steps: [
      ...rulesOfSponsored,
      step('limitsAndDeposit', (on) => peekAt(on, leastOp(on)), {
        isEarly: true,
        applies: ({ simulates, paymaster }) => simulates || askedPolicies(paymaster).length > 0,
      }),
      delegateOnChain(delegates),
      step('gas', (on) => (on.simulates ? findLimits(on) : decideGiven(on)), {
        isCostly: true,
        lacks: ({ simulates, funding }) =>
          simulates && funding === undefined ? 'Nobody pays, so there is nothing to simulate.' : undefined,
      }),
      ...lateRulesOfSponsored,
      ...asking.flatMap(stepsOf),
      step('limitsAndDeposit', (on) => peekAt(on, on.op ?? leastOp(on)), { isSettled: () => true }),
    ],
    draft: draftSponsorship,
    finalize: {
      steps: [...rulesOfSponsored, step('gas', decideGiven), ...lateRulesOfSponsored],
      redraft: redraftSponsorship,
    },
    encode: ({ profile }, op, terms, signature) => profile.layout.sponsorship.encode(op, terms, signature),
    stub: stubData,
    gas: ({ paymasterGas }) => paymasterGas,
    subject: ({ profile, calls }) => ({
      mode: 'SPONSORED',
      contract: profile.contractKey,
      token: undefined,
      calls,
    }),
  };
}

type Asks = PolicyAsks<ServedPolicies>;

/** Policies whose hosts a request waits for. */
export function askedPolicies(served: ServedPolicies): readonly HostPolicy[] {
  return asking.flatMap((kind) => kind.policies(served));
}

/** What hosts are told about a request. */
function aboutOf(on: SponsorCase) {
  const { paymaster, profile, request } = on;
  return {
    paymasterId: paymaster.paymasterId,
    organisation: paymaster.namespace,
    data: request.webhookData,
    userOp: renderUserOperation(finalOp(on), profile.entryPointVersion),
    requestId: request.requestId,
  };
}

/** Checks the caller's limits. */
function decideGiven(on: SponsorCase): Verdict {
  on.op = withLimits(on.request.op, on.request.op);
  return decideGas(on, on.op);
}

/** Caps and floors of the limits that will be signed. */
function decideGas(on: SponsorCase, op: FinalUserOperation): Verdict {
  const { chain, paymaster, profile } = on;
  return decideGasLimits(guardOf(chain, paymaster.gas), op, {
    minVerificationGasLimit: profile.layout.sponsorship.minVerificationGasLimit,
    ownPreVerificationGas: () => ownPreVerificationGas(on, op, stubData(on)),
  });
}

/** The operation at its lowest possible cost, with 0 for missing limits, so that no operation that could still pass is refused. */
function leastOp({ request, estimating }: RequestFacts): FinalUserOperation {
  return withLimits(request.op, estimating ? foundLimits(request, noLimits) : request.op);
}

/** What the caller asks for above our own limit of postOp, of which it may use nothing. */
function extraPostOp({ paymasterGas, profile }: SponsorCase): bigint {
  const extra = paymasterGas.paymasterPostOpGasLimit - profile.paymasterGas.paymasterPostOpGasLimit;
  return extra > 0n ? extra : 0n;
}

function finalOp({ op }: Case): FinalUserOperation {
  if (op === undefined) throw new Error('the gas limits are not known');
  return op;
}

function termsOf(
  on: Pick<SponsorCase, 'paymaster' | 'profile' | 'options' | 'head' | 'expirySeconds' | 'lastSecond'>,
  fundingAddress: AddressKey,
  now: EpochSeconds,
): SponsorshipTerms {
  const { validUntil, validAfter } = windowOf(on, now);
  return { ...placeOf(on, fundingAddress), validUntil, validAfter };
}

/** The terms without their window. */
function placeOf(
  { paymaster, profile, options }: Pick<SponsorCase, 'paymaster' | 'profile' | 'options'>,
  fundingAddress: AddressKey,
) {
  return {
    chainId: paymaster.chainId,
    paymaster: profile.contract,
    fundingAddress,
    options,
  };
}

function stubData(on: SponsorCase): Hex {
  const { profile, request, funding = noWallet } = on;
  const op = withLimits(request.op, request.op);
  const data = sponsorshipStub(profile.layout.sponsorship, op, placeOf(on, funding));
  return request.phase === undefined ? data : signatureToTail(data);
}

function stakeOf({ profile, funding, options }: SponsorCase, op: FinalUserOperation): Stake {
  return {
    mode: 'SPONSORED',
    contract: profile.contractKey,
    payer: profile.keepsBalances ? funding : undefined,
    need: profile.layout.sponsorship.need(op, options),
    unsecured: 0n,
  };
}

/** What is signed for an operation that passes. */
export function draftSponsorship(
  on: SponsorCase,
  op: FinalUserOperation,
  now: EpochMs,
): Draft<SponsorshipTerms> {
  return draftOf(on, op, termsOf(on, payerOf(on), toSeconds(now)), now);
}

/** The draft with the window of data that were answered before; everything else is decided anew. */
function redraftSponsorship(
  on: SponsorCase,
  op: FinalUserOperation,
  committed: Hex,
  now: EpochMs,
): Draft<SponsorshipTerms> | undefined {
  const decoded = inRange(() => on.profile.layout.sponsorship.decode(committed));
  if (decoded === undefined) return undefined;
  const { validUntil, validAfter } = decoded;
  // A policy's window may have been added or moved since the commit.
  if (validUntil > on.lastSecond) return undefined;
  const terms = { ...termsOf(on, payerOf(on), toSeconds(now)), validUntil, validAfter };
  const { promised, ...draft } = draftOf(on, op, terms, now);
  const promise = { ...promised.promise, validUntil: validUntil as EpochSeconds };
  return { ...draft, promised: { ...promised, promise } };
}

function draftOf(
  on: SponsorCase,
  op: FinalUserOperation,
  terms: SponsorshipTerms,
  now: EpochMs,
): Draft<SponsorshipTerms> {
  const codec = on.profile.layout.sponsorship;
  const hash = codec.hash(op, terms);
  return {
    promised: promiseOf(on, op, stakeOf(on, op), now, digestOf(hash)),
    terms,
    toSign: codec.toSign(hash, op, terms),
  };
}

function payerOf({ funding }: SponsorCase): AddressKey {
  if (funding === undefined) throw new Error('terms are asked for an operation that nobody pays for');
  return funding;
}
