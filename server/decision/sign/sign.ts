import type { FinalUserOperation } from '../../../core/entry-point/user-operation.js';
import { after, type Later } from '../../../core/pending.js';
import { requireSignature } from '../../../core/paymaster/signer.js';
import type { Refusal } from '../../../core/refusal.js';
import type { Hex } from '../../../core/units/hex.js';
import type { Clock } from '../../../core/units/time.js';
import { reserve } from '../../../core/usage/plan.js';
import type { DecidingUsage } from '../../../core/usage/usage-store.js';
import type { ConfigView } from '../../view/config-view.js';
import { isOpen, type ServedPaymaster } from '../../view/served-paymaster.js';
import type { DecisionRecords } from '../decision-record.js';
import { withFreshConfig } from '../fresh-config.js';
import { limitsOfRefusal } from '../gas-limits.js';
import type { RefusedSponsorship, Sponsored, SponsorRequest, Sponsorship } from '../request.js';
import { replanReservation, withHashes, type Promised } from '../reservation.js';
import { runToRefusal } from '../run.js';
import type { SignedHashes } from './signed-hashes.js';
import type { SigningBatch } from './signing-batch.js';
import type { Case, Mode, Outcome, Validity } from '../step.js';
import type { TakeBack } from './take-back.js';
import { toOutcome } from '../usage.js';

export type SignDeps = {
  readonly view: Pick<ConfigView, 'refresh' | 'isCurrent'>;
  readonly usage: Pick<DecidingUsage, 'now' | 'reserve' | 'capacity'>;
  readonly signing: SigningBatch;
  readonly clock: Clock;
  /** Absent: nothing is recorded. */
  readonly records?: DecisionRecords;
  /** Absent: promises carry no operation hashes. */
  readonly hashes?: SignedHashes;
  /** Absent: what could not be signed ends when it expires. */
  readonly takeBack?: TakeBack;
  /** Counts what policies in Shadow would have refused; absent: nothing counts it. */
  readonly wouldRefuse?: (refusal: Refusal) => void;
};

/** Decides whether data is signed for an operation, and signs it. */
export type Sponsor<Request = SponsorRequest> = (
  paymaster: ServedPaymaster,
  request: Request,
) => Later<Sponsorship>;

/**
 * Runs the steps of a mode until the first refusal, then reserves and signs. A refusal is an answer. Throws
 * PAYMASTER_NOT_READY, UNAVAILABLE, ESTIMATION_FAILED, INVALID_INPUT and whatever else the mode's steps throw. After a throw no
 * usable signature exists. A reservation that was made is taken back where it is certain that nothing was signed, and ends when it
 * expires otherwise.
 */
export function createSponsor<Request extends SponsorRequest, C extends Case, Terms extends Validity>(
  deps: SignDeps,
  mode: Mode<Request, C, Terms>,
): Sponsor<Request> {
  return (paymaster, request) =>
    withFreshConfig(deps.view, paymaster, (current) => attempt(deps, mode, mode.gather(current, request)));
}

function attempt<C extends Case, Terms extends Validity>(
  deps: SignDeps,
  mode: Mode<never, C, Terms>,
  gathered: C,
): Later<Sponsorship | 'stale'> {
  if (deps.wouldRefuse !== undefined) gathered.shadow.onFound(deps.wouldRefuse);
  return after<Decided, Sponsorship | 'stale'>(decideSteps(deps, mode, gathered), (decided) =>
    decided.outcome === 'passed' ? promise(deps, mode, gathered, decided.op) : decided.answer,
  );
}

/** Reserves, and signs in the turn of the store in which the reservation became durable. */
function promise<C extends Case, Terms extends Validity>(
  deps: SignDeps,
  mode: Mode<never, C, Terms>,
  gathered: C,
  op: FinalUserOperation,
): Later<Sponsorship | 'stale'> {
  const { usage, signing, clock, records, hashes, takeBack } = deps;
  // Reserved before signing: a signature is a promise to pay and cannot be taken back; a reservation can.
  const { promised: drafted, terms, toSign } = mode.draft(gathered, op, clock.now());
  const signed = hashes?.of(drafted);
  const promised = withHashes(drafted, signed?.hashes);
  const record = records?.promised(gathered, mode.subject(gathered), 'sponsored', promised);
  const plan = replanReservation(gathered.usage, promised, usage.capacity(), record);
  return reserve(usage, plan).then((answer) => {
    const reserved = toOutcome(gathered, answer);
    if (reserved === 'stale') return 'stale';
    if (!reserved.pass) return refused(deps, mode, gathered, reserved, promised);
    signed?.recorded();
    return signing.sign(gathered.signer, toSign, gathered.paymaster.paymasterId).then((ended) =>
      // Where a signature may exist, what was reserved stays until the promise has expired.
      after(ended.outcome === 'unsigned' ? takeBack?.(promised) : undefined, () => {
        const paymasterAndData = mode.encode(gathered, op, terms, requireSignature(ended));
        signed?.note(paymasterAndData);
        return sponsored(mode, gathered, op, { promised, terms, paymasterAndData });
      }),
    );
  });
}

type Decided =
  | { readonly outcome: 'passed'; readonly op: FinalUserOperation }
  | { readonly outcome: 'answered'; readonly answer: RefusedSponsorship | 'stale' };

/** Runs the steps; passed means that they have all passed on a config that is still the newest. */
export function decideSteps<C extends Case>(
  deps: Pick<SignDeps, 'view' | 'records'>,
  mode: Pick<Mode<never, C>, 'steps' | 'subject'>,
  gathered: C,
): Later<Decided> {
  return after(runToRefusal(mode.steps, gathered), (outcome) => afterSteps(deps, mode, gathered, outcome));
}

function afterSteps<C extends Case>(
  deps: Pick<SignDeps, 'view' | 'records'>,
  mode: Pick<Mode<never, C>, 'subject'>,
  gathered: C,
  outcome: Outcome,
): Decided {
  if (outcome === 'stale') return { outcome: 'answered', answer: 'stale' };
  if (!outcome.pass) return { outcome: 'answered', answer: refused(deps, mode, gathered, outcome) };
  // Steps may take seconds: if the config was paused, tightened or suspended meanwhile, we must no longer sign on it.
  if (!deps.view.isCurrent(gathered.paymaster, gathered.chain))
    return { outcome: 'answered', answer: 'stale' };
  if (gathered.op === undefined) throw new Error('every step has passed, and the gas limits are not known');
  return { outcome: 'passed', op: gathered.op };
}

/** The answer for an operation that is signed, or committed. */
export function sponsored<C extends Case, Terms extends Validity>(
  mode: Pick<Mode<never, C, Terms>, 'gas'>,
  gathered: C,
  op: FinalUserOperation,
  {
    promised,
    terms,
    paymasterAndData,
  }: { readonly promised: Promised; readonly terms: Terms; readonly paymasterAndData: Hex },
): Sponsored {
  const { paymaster, profile, expiryAsked } = gathered;
  return {
    outcome: 'sponsored',
    profile,
    paymasterGas: mode.gas(gathered),
    op,
    paymasterAndData,
    isOpen: promised.promise.mode === 'SPONSORED' && isOpen(paymaster),
    validUntil: terms.validUntil,
    validAfter: terms.validAfter,
    expiryAsked,
  };
}

/** Records a refusal, and answers it. The client needs limits even when it comes before they were found. */
export function refused<C extends Case>(
  { records }: Pick<SignDeps, 'records'>,
  mode: Pick<Mode<never, C>, 'subject'>,
  gathered: C,
  refusal: Refusal,
  promised?: Promised,
): RefusedSponsorship {
  records?.refused(mode, gathered, refusal, promised);
  const { profile, request, estimating, op } = gathered;
  return { outcome: 'refused', profile, refusal, limits: op ?? limitsOfRefusal(request.op, estimating) };
}
