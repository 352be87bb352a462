import { requireSignature } from '../../../core/paymaster/signer.js';
import {
  joinPaymasterSignature,
  splitPaymasterSignature,
} from '../../../core/entry-point/paymaster-signature.js';
import { userOpHash } from '../../../core/entry-point/user-op-hash.js';
import type { Decision } from '../../../core/ledger/record.js';
import { computeCommitment } from '../../../core/paymaster/commitment.js';
import { stubSignature } from '../../../core/paymaster/signature.js';
import { signatureToTail } from '../../../core/paymaster/tail.js';
import { pass, refuse, type Verdict } from '../../../core/refusal.js';
import { bytesToHex, type Hex } from '../../../core/units/hex.js';
import { hashPair } from '../../../core/usage/operation-hashes.js';
import { peek, reserve } from '../../../core/usage/plan.js';
import type { ReserveRequest } from '../../../core/usage/reserve-request.js';
import type { DecidingUsage } from '../../../core/usage/usage-store.js';
import type { AccountValidator } from '../../../core/userop/account-validation.js';
import type { FinalUserOperation } from '../../../core/entry-point/user-operation.js';
import { withFreshConfig } from '../fresh-config.js';
import { withLimits } from '../gas-limits.js';
import type { FinalizeRequest, SponsorRequest } from '../request.js';
import { planReservation, withHashes, type PlannedReservation, type Promised } from '../reservation.js';
import { runToRefusal } from '../run.js';
import { decideSteps, refused, sponsored, type SignDeps, type Sponsor } from './sign.js';
import type { Case, Finalize, Mode, Validity } from '../step.js';
import { isServedNewer, toOutcome } from '../usage.js';

export type TwoPhaseDeps = SignDeps & {
  readonly usage: Pick<DecidingUsage, 'now' | 'reserve' | 'peek' | 'capacity'>;
  readonly accounts: AccountValidator;
};

/**
 * Signing in two phases, for contracts that read the paymaster's signature from the tail of `paymasterAndData`: the
 * account signs in between. A commit decides everything, reserves, and answers a placeholder; nothing is signed.
 */
export function createCommit<Request extends SponsorRequest, C extends Case, Terms extends Validity>(
  deps: TwoPhaseDeps,
  mode: Mode<Request, C, Terms>,
): Sponsor<Request> {
  const { view, usage, clock, records } = deps;
  return (paymaster, request) =>
    withFreshConfig(view, paymaster, async (current) => {
      const gathered = mode.gather(current, request);
      if (deps.wouldRefuse !== undefined) gathered.shadow.onFound(deps.wouldRefuse);
      const decided = await decideSteps(deps, mode, gathered);
      if (decided.outcome !== 'passed') return decided.answer;
      const { op } = decided;
      const { promised, terms } = mode.draft(gathered, op, clock.now());
      const paymasterAndData = signatureToTail(mode.encode(gathered, op, terms, stubSignature()));
      const hash = records && operationHash(gathered, op, paymasterAndData);
      const record = records?.promised(gathered, mode.subject(gathered), 'committed', promised, hash);
      const plan = phasePlan('commit', { promised, op, paymasterAndData, record }, usage);
      const answer = await reserve(usage, plan);
      const reserved = toOutcome(gathered, answer);
      if (reserved === 'stale') return 'stale';
      if (!reserved.pass) return refused(deps, mode, gathered, reserved, promised);
      return sponsored(mode, gathered, op, { promised, terms, paymasterAndData });
    });
}

/**
 * The second phase: signs the data of an open commit once the account has signed the operation. The operation is the
 * committed one (compared by {@link computeCommitment}), its account accepts its own signature in a simulation, what the mode asks
 * of the chain still holds, and the reservation turns into a promise in one step before the signature is made. Asked again
 * within the time of the commit, it answers the same bytes, since our signatures are deterministic (RFC 6979).
 */
export function createFinalize<Request extends SponsorRequest, C extends Case, Terms extends Validity>(
  deps: TwoPhaseDeps,
  mode: Mode<Request, C, Terms>,
  { steps, redraft, simulate }: Finalize<C, Terms>,
): Sponsor<Request & FinalizeRequest> {
  const { view, usage, signing, accounts, clock, records } = deps;
  return (paymaster, request) =>
    withFreshConfig(view, paymaster, async (current) => {
      const gathered = mode.gather(current, request);
      if (deps.wouldRefuse !== undefined) gathered.shadow.onFound(deps.wouldRefuse);
      const op = withLimits(request.op, request.op);
      gathered.op = op;
      const outcome = await runToRefusal(steps, gathered);
      if (outcome === 'stale') return 'stale';
      const { committed } = request;
      if (!outcome.pass) return refused(deps, mode, gathered, outcome);
      const draft = redraft(gathered, op, committed, clock.now());
      const paymasterAndData =
        draft && signatureToTail(mode.encode(gathered, op, draft.terms, stubSignature()));
      if (draft === undefined || unsignedData(paymasterAndData) !== unsignedData(committed)) {
        // Another replica may have answered the commit by a newer config, with another wallet or contract.
        if (draft !== undefined && (await isServedNewer(usage, draft.promised))) return 'stale';
        const refusal = refuse('COMMIT_NOT_OPEN', 'paymasterData is not what a commit answered');
        return refused(deps, mode, gathered, refusal);
      }

      // A finalize without its commit costs the chain nothing.
      // The hash leaves the signature out, so it is known before anybody signs.
      const hash = operationHash(gathered, op, committed);
      const { digest } = draft.promised.promise;
      const promised = withHashes(draft.promised, hash && `0x${hashPair(digest, hash)}`);
      const record = records?.promised(gathered, mode.subject(gathered), 'sponsored', promised, hash);
      const plan = phasePlan('finalize', { promised, op, paymasterAndData: committed, record }, usage);
      const looked = await peek(usage, plan);
      const peeked = toOutcome(gathered, looked);
      if (peeked === 'stale') return 'stale';
      if (!peeked.pass) return refused(deps, mode, gathered, peeked, promised);
      const { profile } = gathered;
      const { paymasterId, chainId } = gathered.paymaster;
      const { entryPoint, entryPointVersion } = profile;
      const target = { paymasterId, chainId, entryPoint, entryPointVersion };
      const validated = { op, paymasterAndData: committed, headBlock: gathered.head.number };
      const simulated = await allPass([
        accounts.validate({ ...target, ...validated }),
        simulate?.(gathered, draft) ?? Promise.resolve(pass),
      ]);
      if (!simulated.pass) return refused(deps, mode, gathered, simulated, promised);
      // The simulations take time, in which the config may have been paused, tightened or suspended.
      if (!view.isCurrent(gathered.paymaster, gathered.chain)) return 'stale';

      const answer = await reserve(usage, plan);
      const reserved = toOutcome(gathered, answer);
      if (reserved === 'stale') return 'stale';
      if (!reserved.pass) return refused(deps, mode, gathered, reserved, promised);
      const signature = requireSignature(await signing.sign(gathered.signer, draft.toSign, paymasterId));
      const signed = joinPaymasterSignature(unsignedData(committed) ?? '0x', bytesToHex(signature));
      return sponsored(mode, gathered, op, { ...draft, promised, paymasterAndData: signed });
    });
}

/** The EntryPoint leaves the signature in the tail out of it, so it is known before anybody signs. */
function operationHash({ paymaster, profile }: Case, op: FinalUserOperation, data: Hex): Hex | undefined {
  const { entryPoint, entryPointVersion: version } = profile;
  return userOpHash(op, data, { version, entryPoint, chainId: paymaster.chainId });
}

/**
 * The first refusal. It comes before a failure of the others: where the account cannot pay, its validation ends in that of the
 * paymaster and says nothing. Throws the first failure where nothing is refused.
 */
async function allPass(simulations: readonly Promise<Verdict>[]): Promise<Verdict> {
  const ended = await Promise.allSettled(simulations);
  const failures: unknown[] = [];
  for (const one of ended) {
    if (one.status === 'rejected') failures.push(one.reason);
    else if (!one.value.pass) return one.value;
  }
  if (failures.length > 0) throw failures[0];
  return pass;
}

function phasePlan(
  kind: 'commit' | 'finalize',
  committed: {
    readonly promised: Promised;
    readonly op: FinalUserOperation;
    readonly paymasterAndData: Hex;
    readonly record: Decision | undefined;
  },
  usage: Pick<DecidingUsage, 'capacity'>,
): (now: Parameters<ReturnType<typeof planReservation>>[0]) => PlannedReservation {
  const { promised, op, paymasterAndData, record } = committed;
  const plan = planReservation(promised, usage.capacity(), record);
  const commitment = computeCommitment(op, paymasterAndData, promised.promise.digest);
  const phase: ReserveRequest['phase'] = { kind, commitment };
  return (now) => ({ ...plan(now), phase });
}

/** `paymasterAndData` without the signature in its tail; undefined when it has none. */
function unsignedData(paymasterAndData: Hex | undefined): Hex | undefined {
  if (paymasterAndData === undefined) return undefined;
  const found = splitPaymasterSignature(paymasterAndData);
  return found.kind === 'signature' ? found.data : undefined;
}
