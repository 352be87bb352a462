import type { DomainError } from '../../core/errors.js';
import { remedyOf, type Verdict } from '../../core/refusal.js';

/** One step of a decision, for people. */
export type TraceStep = {
  readonly step: string;
  readonly verdict: 'pass' | 'refuse' | 'skipped' | 'error';
  /** Of a refusal; of an error its `data.reason`. */
  readonly reason?: string;
  /** What exactly: which address, limit, figure. */
  readonly detail?: string;
  /** What would make it pass. */
  readonly remedy?: string;
};

/** Collects the steps of an explanation; the first refusal is what a sponsorship request would be answered with. */
export type Trace = {
  judged(step: string, verdict: Verdict): void;
  skipped(step: string, why: string): void;
  /** A step that could not be decided: a sponsorship request would be answered with an error. */
  failed(step: string, error: DomainError): void;
  readonly steps: readonly TraceStep[];
  /** The first step that did not pass. */
  stoppedBy(): TraceStep | undefined;
};

export function createTrace(): Trace {
  const steps: TraceStep[] = [];
  return {
    steps,
    judged(step, verdict) {
      if (verdict.pass) steps.push({ step, verdict: 'pass' });
      else {
        const { reason, detail } = verdict;
        steps.push({ step, verdict: 'refuse', reason, detail, remedy: remedyOf(verdict) });
      }
    },
    skipped: (step, detail) => void steps.push({ step, verdict: 'skipped', detail }),
    failed(step, { code, message, details }) {
      const reason = details.reason ?? code;
      const remedy = details.remedy ?? errorRemedies.get(reason);
      steps.push({
        step,
        verdict: 'error',
        reason,
        detail: message,
        ...(remedy === undefined ? {} : { remedy }),
      });
    },
    stoppedBy: () => steps.find(({ verdict }) => verdict === 'refuse' || verdict === 'error'),
  };
}

/** What would end an error that does not pass by itself. */
const errorRemedies: ReadonlyMap<string, string> = new Map([
  ['SIMULATIONS_BUSY', 'Try again in a second, or send gas limits: then nothing is simulated.'],
  ['WEBHOOK_BUSY', 'Try again in a second; limit the requests of a key with spec.rateLimit if it persists.'],
  ['FEE_TOKEN_REQUIRED', 'Name one of the tokens shown in tokenInfo.feeTokenAddress.'],
  [
    'FEE_TOKEN_UNSUPPORTED',
    'Name a token that is shown with a price, or correct the price source of this one.',
  ],
]);
