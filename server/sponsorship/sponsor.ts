import type { ReserveRequest, UsageStore } from '../../core/policy/usage-store.js';
import type { Refusal } from '../../core/policy/verdict.js';
import { toSeconds, type EpochMs } from '../../core/units/time.js';
import type { FinalUserOperation } from '../../core/userop/user-operation.js';
import type { ConfigView } from '../view/config-view.js';
import type { ServedPaymaster } from '../view/served-paymaster.js';
import { gatherCase, type CaseDeps, type SponsorCase } from './case.js';
import { withFreshConfig } from './fresh-config.js';
import { limitsOfRefusal } from './gas-limits.js';
import type { SponsorRequest, Sponsorship } from './request.js';
import { describeRefusal, reservationOf } from './reservation.js';
import { firstRefusal, rulesAtOnce } from './rules.js';
import { signHash } from './sign-hash.js';
import type { SigningBatch } from './signing-batch.js';
import { askWebhooks, findLimits, givenLimits, peekUsage, type StageDeps } from './stages.js';
import { termsOf } from './terms.js';
import { needsSimulation } from './unused-gas.js';

export type SponsorDeps = CaseDeps &
  StageDeps & {
    readonly view: Pick<ConfigView, 'refresh' | 'isCurrent' | 'sharesAccount'>;
    readonly usage: Pick<UsageStore, 'reserve' | 'noteSigned'>;
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
  const now = deps.clock.now();
  const reservation = reservationOf(facts, found.op, now);
  const isTracked = needsHash(deps, facts);
  const reserved = await deps.usage.reserve(reservation);
  if (reserved.outcome === 'reserved')
    return sign(deps, facts, { op: found.op, reservation, now, isTracked });
  if (reserved.outcome === 'stale') return 'stale';
  return refused(facts, describeRefusal(facts, reservation, reserved), found.op);
}

type Reserved = {
  readonly op: FinalUserOperation;
  readonly reservation: ReserveRequest;
  readonly now: EpochMs;
  readonly isTracked: boolean;
};

async function sign(
  deps: SponsorDeps,
  facts: SponsorCase,
  { op, reservation, now, isTracked }: Reserved,
): Promise<Sponsorship> {
  const { profile } = facts;
  const codec = profile.layout.sponsorship;
  const terms = termsOf(facts, toSeconds(now));
  const signature = await signHash(deps.signing, facts.signer, codec.hash(op, terms));
  const paymasterAndData = codec.encode(op, terms, signature);
  const hash = isTracked ? profile.userOpHash(op, paymasterAndData) : undefined;
  if (hash !== undefined) deps.usage.noteSigned(reservation.key, hash);
  const { validUntil, validAfter } = terms;
  const { expiryAsked } = facts;
  return {
    outcome: 'sponsored',
    isOpen: facts.paymaster.allowList.kind === 'open',
    profile,
    op,
    paymasterAndData,
    validUntil,
    validAfter,
    expiryAsked,
  };
}

/**
 * Whether the hash of what is signed must be remembered: only where operations of several paymasters can settle from one
 * account. Elsewhere EntryPoint, contract, sender and nonce name the reservation, and three more hashes would buy nothing.
 * Asked before the wait for the store, while the record is at hand: a rival that appears later is settled with it, which is
 * too much and never too little.
 */
function needsHash({ view }: SponsorDeps, { paymaster, profile, funding }: SponsorCase): boolean {
  return funding !== undefined && view.sharesAccount(paymaster, profile, funding);
}

/** A refusal before the limits were found still owes some to the client. */
function refused(
  { profile, request, estimating }: SponsorCase,
  { reason, detail }: Refusal,
  op?: FinalUserOperation,
): Sponsorship {
  const limits = op ?? limitsOfRefusal(request.op, estimating);
  return { outcome: 'refused', profile, reason, detail, limits };
}
