import { DomainError } from '../../core/errors.js';
import type { Signer } from '../../core/paymaster/signer.js';
import type { Refusal } from '../../core/refusal.js';
import type { Clock } from '../../core/units/time.js';
import { reserve } from '../../core/usage/plan.js';
import type { UsageStore } from '../../core/usage/usage-store.js';
import type { ConfigView } from '../view/config-view.js';
import type { ServedPaymaster } from '../view/served-paymaster.js';
import { withFreshConfig } from './fresh-config.js';
import { limitsOfRefusal } from './gas-limits.js';
import type { RefusedSponsorship, SponsorRequest, Sponsorship } from './request.js';
import { planReservation } from './reservation.js';
import { runToRefusal } from './run.js';
import type { SigningBatch } from './signing-batch.js';
import type { Case, Mode, Window } from './step.js';
import { outcomeOf } from './usage.js';

export type SignDeps = {
  readonly view: Pick<ConfigView, 'refresh' | 'isCurrent'>;
  readonly usage: Pick<UsageStore, 'now' | 'reserve' | 'capacity'>;
  readonly signing: SigningBatch;
  readonly clock: Clock;
};

/** Decides whether data is signed for an operation, and signs it. */
export type Sponsor<Request = SponsorRequest> = (
  paymaster: ServedPaymaster,
  request: Request,
) => Promise<Sponsorship>;

/**
 * Runs the steps of a mode until the first refusal, then reserves and signs. A refusal is an answer. Throws
 * PAYMASTER_NOT_READY, UNAVAILABLE, ESTIMATION_FAILED, INVALID_INPUT and whatever else the mode's steps throw. After a throw no
 * usable signature exists, and a reservation that was made ends when it expires.
 */
export function createSponsor<Request extends SponsorRequest, C extends Case, Terms extends Window>(
  deps: SignDeps,
  mode: Mode<Request, C, Terms>,
): Sponsor<Request> {
  return (paymaster, request) =>
    withFreshConfig(deps.view, paymaster, (current) => attempt(deps, mode, mode.gather(current, request)));
}

async function attempt<C extends Case, Terms extends Window>(
  { view, usage, signing, clock }: SignDeps,
  mode: Mode<never, C, Terms>,
  on: C,
): Promise<Sponsorship | 'stale'> {
  const { paymaster, chain, profile, signer, expiryAsked } = on;
  const running = runToRefusal(mode.steps, on);
  const outcome = running instanceof Promise ? await running : running;
  if (outcome === 'stale') return 'stale';
  if (!outcome.pass) return refused(on, outcome);
  // Steps may take seconds: if the config was paused, tightened or suspended meanwhile, we must no longer sign on it.
  if (!view.isCurrent(paymaster, chain)) return 'stale';
  const { op } = on;
  if (op === undefined) throw new Error('every step has passed, and the gas limits are not known');

  // Reserved before signing: a signature is a promise to pay and cannot be taken back; a reservation can.
  const { promised, terms, toSign } = mode.draft(on, op, clock.now());
  const reserved = outcomeOf(paymaster, await reserve(usage, planReservation(promised, usage.capacity())));
  if (reserved === 'stale') return 'stale';
  if (!reserved.pass) return refused(on, reserved);
  const signature = await signDigest(signing, signer, toSign);
  return {
    outcome: 'sponsored',
    profile,
    paymasterGas: mode.gas(on),
    op,
    paymasterAndData: mode.encode(on, op, terms, signature),
    isOpen: promised.promise.mode === 'SPONSORED' && paymaster.allowList.kind === 'open',
    validUntil: terms.validUntil,
    validAfter: terms.validAfter,
    expiryAsked,
  };
}

/** The client needs limits even when the refusal comes before they were found. */
function refused({ profile, request, estimating, op }: Case, refusal: Refusal): RefusedSponsorship {
  return { outcome: 'refused', profile, refusal, limits: op ?? limitsOfRefusal(request.op, estimating) };
}

/** Signs 32 bytes as they are: see `toSign` of a codec. Throws UNAVAILABLE. */
export async function signDigest(
  signing: SigningBatch,
  signer: Signer,
  digest: Uint8Array,
): Promise<Uint8Array> {
  try {
    return await signing.sign(signer, digest);
  } catch (cause) {
    throw new DomainError('UNAVAILABLE', 'The signer did not answer: try again.', {
      reason: 'SIGNER_UNAVAILABLE',
      retryAfterSeconds: 1,
      cause,
    });
  }
}
