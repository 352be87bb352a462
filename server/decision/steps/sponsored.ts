import { toDigest } from '../../../core/paymaster/digest.js';
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
import { findGuard } from '../../view/served-chain.js';
import { ownPreVerificationGas, requireDataFee, withDataFee } from './data-fee.js';
import { delegateOnChain, type Delegates } from '../delegates.js';
import type { FactDeps, RequestFacts } from '../facts.js';
import { estimateRequest, foundLimits, noLimits, withLimits } from '../gas-limits.js';
import { inRange } from './in-range.js';
import { toPromised, type Stake } from './promise.js';
import type { SponsorRequest } from '../request.js';
import { lateRulesOfSponsored, rulesOfSponsored } from './rules.js';
import { gatherCase, noWallet, type SponsorCase } from './sponsored-case.js';
import { step, type Case, type Draft, type Finalize, type Mode } from '../step.js';
import { boundsOfGiven, decideUnused, estimateOrGiven } from './unused-gas.js';
import { peekUsage } from '../usage.js';
import { chooseValidity } from './validity.js';

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

  const peekAt = (gathered: SponsorCase, op: FinalUserOperation) =>
    peekUsage(usage, gathered, toPromised(gathered, op, toStake(gathered, op), clock.now()));

  /**
   * Finds the limits by simulation, or compares the caller's limits with a simulation. An operation that would fail is not worth a
   * sponsor's money. An operation that is refused anyway is not simulated.
   */
  async function findLimits(gathered: SponsorCase): Promise<Verdict> {
    const { request, estimating } = gathered;
    if (!estimating) {
      const given = decideGiven(gathered);
      if (!given.pass) return given;
    } else requireDataFee(gathered);
    const stub = stubData(gathered);
    const asked = () => estimator.estimate(estimateRequest(gathered, request.op, stub));
    const estimate = await estimateOrGiven(gathered, gathered.paymasterGas, asked);
    if (estimate === undefined) return decideGiven(gathered);
    gathered.estimate = estimate;
    const found = withDataFee(gathered, estimate, request.op, stub);
    gathered.op ??= withLimits(request.op, foundLimits(request, found, boundsOfGiven(gathered)));
    if (estimate.reverted !== undefined) return refuseReverted(estimate.reverted, estimate.remedy);
    const bounded = estimating ? decideGas(gathered, gathered.op) : pass;
    return bounded.pass ? decideUnused(gathered, gathered.op, estimate, extraPostOp(gathered)) : bounded;
  }

  /**
   * Asks the hosts of policies in Shadow beside the request, which waits for none of them. Their answers count when they come: in the
   * record of the decision only if they are faster than the rest of it. Dropped where their small pool is full.
   */
  function askShadows(kind: Asks, gathered: SponsorCase): Verdict {
    const policies = kind.shadows(gathered.paymaster);
    const decide = (outcomes: readonly HostOutcome[]): void => {
      for (const [index, policy] of policies.entries()) {
        const verdict = kind.decide([policy], outcomes.slice(index, index + 1));
        if (!verdict.pass) gathered.shadow.note(verdict);
      }
    };
    const asked = hosts
      .call({ ...describeRequest(gathered), policies, isShadow: true })
      .then(decide, () => {});
    gathered.shadowsAsked = Promise.all([gathered.shadowsAsked, asked]);
    return pass;
  }

  /** Asks the hosts of all policies of a kind at once about the operation as it will be signed. */
  async function askHosts(kind: Asks, gathered: SponsorCase): Promise<Verdict> {
    const policies = kind.policies(gathered.paymaster);
    const outcomes = await hosts.call({ ...describeRequest(gathered), policies });
    const answered = policies.flatMap(({ policyId }, index) => {
      const outcome = outcomes[index];
      return outcome === undefined ? [] : [[policyId, outcome] as const];
    });
    gathered.outcomes = new Map([...(gathered.outcomes ?? []), ...answered]);
    return kind.decide(policies, outcomes);
  }

  const askSteps = (kind: Asks) => {
    const lacks = ({ op }: SponsorCase) => (op === undefined ? 'The gas limits are not known.' : undefined);
    return [
      step<SponsorCase>(kind.shadowStep, (gathered) => askShadows(kind, gathered), {
        isCostly: true,
        isShadow: true,
        applies: ({ paymaster }) => kind.shadows(paymaster).length > 0,
        lacks,
      }),
      step<SponsorCase>(kind.step, (gathered) => askHosts(kind, gathered), {
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
      step('limitsAndDeposit', (gathered) => peekAt(gathered, minOp(gathered)), {
        isEarly: true,
        applies: ({ simulates, paymaster }) => simulates || askedPolicies(paymaster).length > 0,
      }),
      delegateOnChain(delegates),
      step('gas', (gathered) => (gathered.simulates ? findLimits(gathered) : decideGiven(gathered)), {
        isCostly: true,
        lacks: ({ simulates, funding }) =>
          simulates && funding === undefined ? 'Nobody pays, so there is nothing to simulate.' : undefined,
      }),
      ...lateRulesOfSponsored,
      ...asking.flatMap(askSteps),
      step('limitsAndDeposit', (gathered) => peekAt(gathered, gathered.op ?? minOp(gathered)), {
        isSettled: () => true,
      }),
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
function describeRequest(gathered: SponsorCase) {
  const { paymaster, profile, request } = gathered;
  return {
    paymasterId: paymaster.paymasterId,
    organisation: paymaster.namespace,
    data: request.webhookData,
    userOp: renderUserOperation(finalOp(gathered), profile.entryPointVersion),
    requestId: request.requestId,
  };
}

/** Checks the caller's limits. */
function decideGiven(gathered: SponsorCase): Verdict {
  gathered.op = withLimits(gathered.request.op, gathered.request.op);
  return decideGas(gathered, gathered.op);
}

/** Caps and floors of the limits that will be signed. */
function decideGas(gathered: SponsorCase, op: FinalUserOperation): Verdict {
  const { chain, paymaster, profile } = gathered;
  return decideGasLimits(findGuard(chain, paymaster.gas), op, {
    minVerificationGasLimit: profile.layout.sponsorship.minVerificationGasLimit,
    ownPreVerificationGas: () => ownPreVerificationGas(gathered, op, stubData(gathered)),
  });
}

/** The operation at its lowest possible cost, with 0 for missing limits, so that no operation that could still pass is refused. */
function minOp({ request, estimating }: RequestFacts): FinalUserOperation {
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

function toTerms(
  gathered: Pick<SponsorCase, 'paymaster' | 'profile' | 'options' | 'head' | 'expirySeconds' | 'lastSecond'>,
  fundingAddress: AddressKey,
  now: EpochSeconds,
): SponsorshipTerms {
  const { validUntil, validAfter } = chooseValidity(gathered, now);
  return { ...toPlace(gathered, fundingAddress), validUntil, validAfter };
}

/** The terms without how long they are valid. */
function toPlace(
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

function stubData(gathered: SponsorCase): Hex {
  const { profile, request, funding = noWallet } = gathered;
  const op = withLimits(request.op, request.op);
  const data = sponsorshipStub(profile.layout.sponsorship, op, toPlace(gathered, funding));
  return request.phase === undefined ? data : signatureToTail(data);
}

function toStake({ profile, funding, options }: SponsorCase, op: FinalUserOperation): Stake {
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
  gathered: SponsorCase,
  op: FinalUserOperation,
  now: EpochMs,
): Draft<SponsorshipTerms> {
  return toDraft(gathered, op, toTerms(gathered, requirePayer(gathered), toSeconds(now)), now);
}

/** The draft that is valid as long as the data that were answered before; everything else is decided anew. */
function redraftSponsorship(
  gathered: SponsorCase,
  op: FinalUserOperation,
  committed: Hex,
  now: EpochMs,
): Draft<SponsorshipTerms> | undefined {
  const decoded = inRange(() => gathered.profile.layout.sponsorship.decode(committed));
  if (decoded === undefined) return undefined;
  const { validUntil, validAfter } = decoded;
  // A policy's window may have been added or moved since the commit.
  if (validUntil > gathered.lastSecond) return undefined;
  const terms = { ...toTerms(gathered, requirePayer(gathered), toSeconds(now)), validUntil, validAfter };
  const { promised, ...draft } = toDraft(gathered, op, terms, now);
  const promise = { ...promised.promise, validUntil: validUntil as EpochSeconds };
  return { ...draft, promised: { ...promised, promise } };
}

function toDraft(
  gathered: SponsorCase,
  op: FinalUserOperation,
  terms: SponsorshipTerms,
  now: EpochMs,
): Draft<SponsorshipTerms> {
  const codec = gathered.profile.layout.sponsorship;
  const hash = codec.hash(op, terms);
  return {
    promised: toPromised(gathered, op, toStake(gathered, op), now, toDigest(hash)),
    terms,
    toSign: codec.toSign(hash, op, terms),
  };
}

function requirePayer({ funding }: SponsorCase): AddressKey {
  if (funding === undefined) throw new Error('terms are asked for an operation that nobody pays for');
  return funding;
}
