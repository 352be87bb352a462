import { remedyOfReason } from '../../core/error-reasons.js';
import { isDomainError, type DomainError } from '../../core/errors.js';
import { publishedError } from '../../core/published-error.js';
import { pass, refusalRemedy } from '../../core/refusal.js';
import type { Outcome, Step } from './step.js';

/** The first refusal, or a pass. Synchronous when no step waits. Throws what a step throws. */
export function runToRefusal<C>(steps: readonly Step<C>[], gathered: C): Outcome | Promise<Outcome> {
  for (let index = 0; index < steps.length; index += 1) {
    const step = steps[index];
    if (step === undefined || step.applies?.(gathered) === false || step.isSettled?.(gathered) === true)
      continue;
    const outcome = step.decide(gathered);
    if (outcome instanceof Promise) return goOn(outcome, steps.slice(index + 1), gathered);
    if (outcome === 'stale' || !outcome.pass) return outcome;
  }
  return pass;
}

async function goOn<C>(waiting: Promise<Outcome>, rest: readonly Step<C>[], gathered: C): Promise<Outcome> {
  const outcome = await waiting;
  return outcome === 'stale' || !outcome.pass ? outcome : runToRefusal(rest, gathered);
}

/** The steps for a wallet's first request: those before the first costly step that only need parts that the wallet has completed by then. */
export function stepsOfStub<C>(steps: readonly Step<C>[]): readonly Step<C>[] {
  const costly = steps.findIndex(({ isCostly }) => isCostly);
  return steps
    .slice(0, costly === -1 ? steps.length : costly)
    .filter(({ needsFinalOperation: isOfSigned }) => !isOfSigned);
}

/** One step of a decision, for people. */
export type TraceStep = {
  readonly step: string;
  readonly verdict: 'pass' | 'refuse' | 'skipped' | 'error';
  /** The reason of a refusal; for an error its `data.reason`. */
  readonly reason?: string;
  /** What exactly was refused: which address, limit or figure. */
  readonly detail?: string;
  /** What would make the step pass. */
  readonly remedy?: string;
};

export type Trace = {
  readonly steps: readonly TraceStep[];
  /** The first step that did not pass. A request would get its answer, unless a step of `undecided` refuses first. */
  readonly stoppedBy: TraceStep | undefined;
  /** Steps before it that were skipped. */
  readonly undecided: readonly string[];
};

/** Runs all steps, also after a refusal. `unasked` gives, by step name, the reason why a step is skipped. */
export async function runToEnd<C>(
  steps: readonly Step<C>[],
  gathered: C,
  unasked: Readonly<Record<string, string>> = {},
): Promise<Trace | 'stale'> {
  const shown: TraceStep[] = [];
  const undecided: string[] = [];
  let stoppedBy: TraceStep | undefined;
  for (const step of steps) {
    if (step.applies?.(gathered) === false) continue;
    const { name, isEarly, isShadow } = step;
    if (stoppedBy === undefined && unasked[name] !== undefined && !isShadow) undecided.push(name);
    const skipped = unasked[name] ?? step.lacks?.(gathered);
    const traced =
      skipped === undefined
        ? await trace(step, gathered)
        : ({ step: name, verdict: 'skipped', detail: skipped } as const);
    if (traced === 'stale') {
      // A request that an earlier step refuses never gets to this step.
      if (stoppedBy === undefined) return 'stale';
      continue;
    }
    const hasStopped = traced.verdict === 'refuse' || traced.verdict === 'error';
    if (hasStopped) stoppedBy ??= traced;
    // A refusal that an early step has shown is not repeated by its later step.
    const isShown = hasStopped || !isEarly;
    if (isShown && !shown.some((each) => each.step === name)) shown.push(traced);
  }
  return { steps: shown, stoppedBy, undecided };
}

async function trace<C>({ name, decide }: Step<C>, gathered: C): Promise<TraceStep | 'stale'> {
  try {
    const outcome = await decide(gathered);
    if (outcome === 'stale') return 'stale';
    if (outcome.pass) return { step: name, verdict: 'pass' };
    const { reason, detail } = outcome;
    return { step: name, verdict: 'refuse', reason, detail, remedy: refusalRemedy(outcome) };
  } catch (error) {
    if (!isDomainError(error)) throw error;
    return traceError(name, error);
  }
}

/** A request would be answered with this error. */
function traceError(step: string, error: DomainError): TraceStep {
  const { reason, message, remedy = remedyOfReason(reason) } = publishedError(error);
  const detail = error.details.forOwner ?? message;
  return { step, verdict: 'error', reason, detail, ...(remedy === undefined ? {} : { remedy }) };
}
