import { pass, refuse, type Refusal, type Verdict } from '../../core/refusal.js';
import { decideWebhooks } from '../../core/policy/webhook/decide.js';
import type { WebhookCaller, WebhookOutcome } from '../../core/policy/webhook/webhook-caller.js';
import { peek } from '../../core/usage/plan.js';
import type { PeekResult, UsageStore } from '../../core/usage/usage-store.js';
import { toSeconds, type Clock } from '../../core/units/time.js';
import type { GasEstimator } from '../../core/userop/estimator.js';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import { renderUserOperation } from '../../core/userop/render.js';
import { describeRefusal } from '../decision/refusal.js';
import { planReservation, type PlannedReservation } from '../decision/reservation.js';
import type { SponsorCase } from './case.js';
import { estimateSponsored, withLimits, noLimits } from './gas-limits.js';
import { plannedSponsorship } from './promise.js';
import { decideGas } from './rules.js';
import { termsOf } from './terms.js';
import { decideUnused } from './unused-gas.js';

// The steps of a sponsorship that wait for somebody else, shared by sponsor and explain so that both decide alike.

export type StageDeps = {
  readonly usage: Pick<UsageStore, 'now' | 'peek' | 'capacity'>;
  readonly estimator: GasEstimator;
  readonly webhooks: Pick<WebhookCaller, 'call'>;
  readonly clock: Clock;
};

export type UsagePeek =
  | (PeekedUsage & { readonly outcome: 'passes' })
  | (PeekedUsage & { readonly outcome: 'refused'; readonly refusal: Refusal })
  | { readonly outcome: 'stale' };

/** What was asked, and what the counters stand at. */
export type PeekedUsage = { readonly request: PlannedReservation; readonly peeked: PeekResult };

/**
 * What a reservation would say now. Without an operation whose limits are final the ones given are taken, 0 for those
 * that are missing: its cost is then the least that it can be, so nothing is refused that could still pass.
 */
export async function peekUsage(
  { usage, clock }: StageDeps,
  facts: SponsorCase,
  op: FinalUserOperation = withLimits(facts.request.op, facts.estimating ? noLimits : facts.request.op),
): Promise<UsagePeek> {
  const promised = plannedSponsorship(facts, op, clock.now());
  const { request, result, peeked } = await peek(usage, planReservation(promised, usage.capacity()));
  if (result.outcome === 'reserved') return { outcome: 'passes', request, peeked };
  if (result.outcome === 'stale') return { outcome: 'stale' };
  const refusal = describeRefusal(facts.paymaster, request, result);
  return { outcome: 'refused', request, peeked, refusal };
}

/** An operation with final limits, and whether those limits are acceptable. */
export type FoundLimits = { readonly op: FinalUserOperation; readonly verdict: Verdict };

/** The caller's limits, judged. */
export function givenLimits(facts: SponsorCase): FoundLimits {
  const op = withLimits(facts.request.op, facts.request.op);
  return { op, verdict: decideGas(facts, op) };
}

/**
 * Limits by simulation, or the caller's compared with one, judged. An operation that would fail is not worth a sponsor's
 * money. What is refused anyway is not simulated.
 */
export async function findLimits({ estimator, clock }: StageDeps, facts: SponsorCase): Promise<FoundLimits> {
  const given = facts.estimating ? undefined : givenLimits(facts);
  if (given?.verdict.pass === false) return given;
  const terms = termsOf(facts, toSeconds(clock.now()));
  const estimate = await estimateSponsored(estimator, facts, terms);
  const op = given?.op ?? withLimits(facts.request.op, estimate);
  if (estimate.reverted !== undefined) return { op, verdict: refuse('EXECUTION_REVERTS', estimate.reverted) };
  if (given !== undefined) return { op, verdict: decideUnused(facts, op, estimate) };
  return { op, verdict: decideGas(facts, op) };
}

export type AskedWebhooks = { readonly verdict: Verdict; readonly outcomes: readonly WebhookOutcome[] };

/** Asks every webhook of the paymaster at once about the operation as it will be signed. */
export async function askWebhooks(
  { webhooks }: StageDeps,
  { paymaster, profile, request }: SponsorCase,
  op: FinalUserOperation,
): Promise<AskedWebhooks> {
  if (paymaster.webhooks.length === 0) return { verdict: pass, outcomes: [] };
  const outcomes = await webhooks.call({
    paymasterId: paymaster.paymasterId,
    organisation: paymaster.namespace,
    webhooks: paymaster.webhooks,
    data: request.webhookData,
    userOp: renderUserOperation(op, profile.entryPointVersion),
    requestId: request.requestId,
  });
  return { verdict: decideWebhooks(paymaster.webhooks, outcomes), outcomes };
}
