import type { SigningItem } from '../../core/paymaster/signer.js';
import type { Peeked } from '../../core/usage/plan.js';
import type { SignedPromise } from '../../core/usage/reservation.js';
import type { DecodedCalls } from '../../core/userop/call-data.js';
import type { Estimate } from '../../core/userop/estimator.js';
import type { PaymasterGas, FinalUserOperation } from '../../core/entry-point/user-operation.js';
import type { Verdict } from '../../core/refusal.js';
import type { AddressKey } from '../../core/units/address.js';
import type { EpochMs } from '../../core/units/time.js';
import type { Hex } from '../../core/units/hex.js';
import type { ServedPaymaster } from '../view/served-paymaster.js';
import type { RequestFacts } from './facts.js';
import type { PlannedReservation, Promised } from './reservation.js';

// A decision is a list of steps per mode, run in three ways: until the first refusal (sign.ts), to the end (explain.ts), and
// up to the first step that costs something (stub.ts).

/** `stale`: another replica has served a newer config, so the decision has to start again with that config. */
export type Outcome = Verdict | 'stale';

/** What a decision is based on: the facts of a request, and what steps have found so far. Lives as long as the request. */
export type Case = RequestFacts & {
  /** The operation with final limits, once they are found. */
  op: FinalUserOperation | undefined;
  /** The last peek at the usage store: what was asked, and the values of its counters. */
  usage: (Peeked<PlannedReservation> & { readonly promised: Promised }) | undefined;
  /** Limits by simulation, if there was one. */
  estimate: Estimate | undefined;
};

export type Step<C> = {
  /** The name that an explanation shows. */
  readonly name: string;
  /** Returns a promise only if it has to wait. Notes its findings in the case. Throws the error that the request is answered with. */
  readonly decide: (gathered: C) => Outcome | Promise<Outcome>;
  /** False when there is nothing to decide. */
  readonly applies: ((gathered: C) => boolean) | undefined;
  /** True when an earlier step, or the reservation, checks the same: then only an explanation runs the step, for its figures. */
  readonly isSettled: ((gathered: C) => boolean) | undefined;
  /** For explanations only, which continue after a refusal: why the step cannot be decided; undefined if it can. */
  readonly lacks: ((gathered: C) => string | undefined) | undefined;
  /** Checks before the first costly step what a later step of the same name checks again: shown only if it does not pass. */
  readonly isEarly: boolean;
  /** True when the step costs a node or a host something. */
  readonly isCostly: boolean;
  /** True when the step can refuse nothing, so nothing is undecided while it is not asked. */
  readonly isShadow: boolean;
  /** True when the step checks a part of the operation that a wallet completes only after it has got a stub. */
  readonly needsFinalOperation: boolean;
};

/** Gives every step all members, so that the loop over the steps sees one object shape. */
export function step<C>(
  name: string,
  decide: Step<C>['decide'],
  {
    applies,
    isSettled,
    lacks,
    isEarly = false,
    isCostly = false,
    isShadow = false,
    needsFinalOperation = false,
  }: Partial<Omit<Step<C>, 'name' | 'decide'>> = {},
): Step<C> {
  return { name, decide, applies, isSettled, lacks, isEarly, isCostly, isShadow, needsFinalOperation };
}

/** When signed data are valid, in unix seconds. */
export type Validity = { readonly validUntil: number; readonly validAfter: number };

/** The data to sign once the reservation is made, and the contract's hash of them. */
export type Draft<Terms> = {
  readonly promised: Promised;
  readonly terms: Terms;
  readonly toSign: SigningItem;
};

/** What the second phase decides again: the commit has simulated exactly this operation, and asked the webhooks about it. */
export type Finalize<C extends Case, Terms extends Validity> = {
  /** Steps that cost nothing: at most they wait for a fact that is not cached yet. */
  readonly steps: readonly Step<C>[];
  /** The draft of data that a commit has answered, valid as long as they. Undefined for bytes that are not such data. */
  readonly redraft: (
    gathered: C,
    op: FinalUserOperation,
    committed: Hex,
    now: EpochMs,
  ) => Draft<Terms> | undefined;
  /**
   * Simulates what may have changed on the chain since the commit, beside the validation of the account. Absent: nothing else
   * has to hold.
   */
  readonly simulate?: (gathered: C, draft: Draft<Terms>) => Promise<Verdict>;
};

/** What a mode tells records about an operation. */
export type Subject = Pick<SignedPromise, 'mode' | 'contract'> & {
  /** Mode ERC20: the token that the caller asked for. */
  readonly token: AddressKey | undefined;
  readonly calls: DecodedCalls;
};

/** One way to pay for an operation. */
export type Mode<Request, C extends Case, Terms extends Validity = Validity> = {
  /** Gathers the facts of a request, without I/O. Throws the errors that no step can change. */
  readonly gather: (paymaster: ServedPaymaster, request: Request) => C;
  /** In the order in which they run; the first refusal wins. */
  readonly steps: readonly Step<C>[];
  /** What a wallet's first request is asked on top of the steps that cost nothing, because its bundler would refuse it. */
  readonly stubSteps?: readonly Step<C>[];
  /** Hashes the data before the reservation: the reservation records the hash, and exactly this hash is signed. */
  readonly draft: (gathered: C, op: FinalUserOperation, now: EpochMs) => Draft<Terms>;
  readonly encode: (gathered: C, op: FinalUserOperation, terms: Terms, signature: Uint8Array) => Hex;
  /** Data of the final length and shape with a dummy signature. */
  readonly stub: (gathered: C, now: EpochMs) => Hex;
  readonly gas: (gathered: C) => PaymasterGas;
  /** For the records of decisions. */
  readonly subject: (gathered: C) => Subject;
};
