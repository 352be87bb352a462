import type { Peeked } from '../../core/usage/plan.js';
import type { PaymasterGas } from '../../core/entry-point/user-operation.js';
import type { Verdict } from '../../core/refusal.js';
import type { EpochMs } from '../../core/units/time.js';
import type { Hex } from '../../core/units/hex.js';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import type { ServedPaymaster } from '../view/served-paymaster.js';
import type { RequestFacts } from './facts.js';
import type { PlannedReservation, Promised } from './reservation.js';

// A decision is a list of steps per mode, run in three ways: until the first refusal (sign.ts), to the end (explain.ts), and
// up to the first step that costs something (stub.ts).

/** `stale`: another replica has served a newer config, so the decision has to begin again with that. */
export type Outcome = Verdict | 'stale';

/** What a request is judged by: facts, and what steps have found so far. Lives as long as its request. */
export type Case = RequestFacts & {
  /** With final limits. */
  op: FinalUserOperation | undefined;
  /** The last look at the usage store: what was asked, and what its counters stand at. */
  usage: Peeked<PlannedReservation> | undefined;
};

export type Step<C> = {
  /** As an explanation shows it. */
  readonly name: string;
  /** A promise only where it waits. Notes what it finds in the case. Throws what a request is answered with as an error. */
  readonly decide: (on: C) => Outcome | Promise<Outcome>;
  /** False where there is nothing to decide. */
  readonly applies: ((on: C) => boolean) | undefined;
  /** True where an earlier step, or the reservation, says the same: then only an explanation runs it, for its figures. */
  readonly isSettled: ((on: C) => boolean) | undefined;
  /** Needed by an explanation alone, which goes on after a refusal: why the step cannot be decided; undefined where it can. */
  readonly lacks: ((on: C) => string | undefined) | undefined;
  /** Asks before anything is paid for what a later step of the same name asks again: shown only where it does not pass. */
  readonly isEarly: boolean;
  /** Costs a node or a host something. */
  readonly isCostly: boolean;
  /** Looks at what a wallet completes only after it has got a stub. */
  readonly isOfSigned: boolean;
};

/** Every step has all members, so that the loop over them meets one shape. */
export function step<C>(
  name: string,
  decide: Step<C>['decide'],
  {
    applies,
    isSettled,
    lacks,
    isEarly = false,
    isCostly = false,
    isOfSigned = false,
  }: Partial<Omit<Step<C>, 'name' | 'decide'>> = {},
): Step<C> {
  return { name, decide, applies, isSettled, lacks, isEarly, isCostly, isOfSigned };
}

/** When signed data are valid, in unix seconds. */
export type Window = { readonly validUntil: number; readonly validAfter: number };

/** What will be signed once it is reserved, and the contract's hash of it. */
export type Draft<Terms> = { readonly promised: Promised; readonly terms: Terms; readonly hash: Uint8Array };

/** One way to pay for an operation. */
export type Mode<Request, C extends Case, Terms extends Window = Window> = {
  /** Facts of a request, without I/O. Throws what answers a request whatever the steps say. */
  readonly gather: (paymaster: ServedPaymaster, request: Request) => C;
  /** In the order in which they are asked; the first refusal wins. */
  readonly steps: readonly Step<C>[];
  /** Hashed before it is reserved: the reserving step records what is signed, and exactly that is signed. */
  readonly draft: (on: C, op: FinalUserOperation, now: EpochMs) => Draft<Terms>;
  readonly encode: (on: C, op: FinalUserOperation, terms: Terms, signature: Uint8Array) => Hex;
  /** Data of the final length and shape with a signature by nobody. */
  readonly stub: (on: C, now: EpochMs) => Hex;
  readonly gas: (on: C) => PaymasterGas;
};
