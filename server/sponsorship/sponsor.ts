import type { Refusal } from '../../core/refusal.js';
import { reserve } from '../../core/usage/plan.js';
import type { UsageStore } from '../../core/usage/usage-store.js';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import { describeRefusal } from '../decision/refusal.js';
import { planReservation } from '../decision/reservation.js';
import type { ConfigView } from '../view/config-view.js';
import type { ServedPaymaster } from '../view/served-paymaster.js';
import { gatherCase, type CaseDeps, type SponsorCase } from './case.js';
import { withFreshConfig } from './fresh-config.js';
import { limitsOfRefusal } from './gas-limits.js';
import { draftSponsorship, type DraftSponsorship } from './promise.js';
import type { SponsorRequest, Sponsorship } from './request.js';
import { firstRefusal, rulesAtOnce } from './rules.js';
import { signHash } from './sign-hash.js';
import type { SigningBatch } from './signing-batch.js';
import { askWebhooks, findLimits, givenLimits, peekUsage, type StageDeps } from './stages.js';
import { needsSimulation } from './unused-gas.js';

export type SponsorDeps = CaseDeps &
  StageDeps & {
    readonly view: Pick<ConfigView, 'refresh' | 'isCurrent'>;
    readonly usage: Pick<UsageStore, 'now' | 'reserve' | 'capacity'>;
    readonly signing: SigningBatch;
  };

export type Sponsor = (paymaster: ServedPaymaster, request: SponsorRequest) => Promise<Sponsorship>;

/**
 * Decides whether a paymaster pays for an operation, and signs that it does. First refusal wins, in this order: what is
 * known at once (state of the paymaster, calls, deployment, prices) → a peek at limits and deposit → estimate → caps on
 * the limits that will be signed → webhooks → reservation. Where nothing slow lies between, the peek is left out: the
 * reservation says the same.
 *
 * A refusal is an answer. Throws PAYMASTER_NOT_READY, UNAVAILABLE, ESTIMATION_FAILED and INVALID_INPUT, and then
 * nothing was signed; what was reserved falls back when it expires.
 */
export function createSponsor(deps: SponsorDeps): Sponsor {
  return (paymaster, request) =>
    withFreshConfig(deps.view, paymaster, (current) => attempt(deps, current, request));
}

async function attempt(
  deps: SponsorDeps,
  paymaster: ServedPaymaster,
  request: SponsorRequest,
): Promise<Sponsorship | 'stale'> {
  const facts = gatherCase(deps, paymaster, request);
  const atOnce = firstRefusal(rulesAtOnce, facts);
  if (!atOnce.pass) return refused(facts, atOnce);

  const simulates = needsSimulation(facts, facts.profile.paymasterGas);
  if (simulates || paymaster.webhooks.length > 0) {
    const usage = await peekUsage(deps, facts);
    if (usage.outcome === 'stale') return 'stale';
    if (usage.outcome === 'refused') return refused(facts, usage.refusal);
  }
  const found = simulates ? await findLimits(deps, facts) : givenLimits(facts);
  if (!found.verdict.pass) return refused(facts, found.verdict, found.op);
  if (paymaster.webhooks.length > 0) {
    const { verdict } = await askWebhooks(deps, facts, found.op);
    if (!verdict.pass) return refused(facts, verdict, found.op);
  }
  // A webhook may take seconds: what was paused, tightened or suspended meanwhile must not be signed any more.
  if (!deps.view.isCurrent(paymaster, facts.chain)) return 'stale';

  // Reserved before signing: a signature is a promise to pay and cannot be taken back; a reservation can.
  const draft = draftSponsorship(facts, found.op, deps.clock.now());
  const { request: reservation, result } = await reserve(
    deps.usage,
    planReservation(draft.promised, deps.usage.capacity()),
  );
  if (result.outcome === 'reserved') return sign(deps, facts, draft);
  if (result.outcome === 'stale') return 'stale';
  return refused(facts, describeRefusal(paymaster, reservation, result), found.op);
}

async function sign(
  { signing }: SponsorDeps,
  { paymaster, profile, signer, expiryAsked }: SponsorCase,
  { promised: { op }, terms, hash }: DraftSponsorship,
): Promise<Sponsorship> {
  const signature = await signHash(signing, signer, hash);
  const paymasterAndData = profile.layout.sponsorship.encode(op, terms, signature);
  const { validUntil, validAfter } = terms;
  return {
    outcome: 'sponsored',
    isOpen: paymaster.allowList.kind === 'open',
    profile,
    op,
    paymasterAndData,
    validUntil,
    validAfter,
    expiryAsked,
  };
}

/** A refusal before the limits were found still owes some to the client. */
function refused(
  { profile, request, estimating }: SponsorCase,
  refusal: Refusal,
  op?: FinalUserOperation,
): Sponsorship {
  const limits = op ?? limitsOfRefusal(request.op, estimating);
  return { outcome: 'refused', profile, refusal, limits };
}
