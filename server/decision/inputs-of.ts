import type { Hex } from '../../core/units/hex.js';
import type { Reserved } from '../../core/usage/plan.js';
import { given } from '../../core/units/given.js';
import { recordedVerdict, type DecidedInputs, type RecordedVerdict, type UsageAnswer } from './inputs.js';
import type { Promised } from './reservation.js';
import type { Case, Mode } from './step.js';

/** The part of a mode that records need. */
export type RecordedMode<C extends Case> = Pick<Mode<never, C>, 'subject' | 'read'>;

/** What is recorded of the answer, beyond the case. */
export type AnswerParts = {
  /** What would have been signed. Absent: the last peek, if there was one, asked the usage store. */
  readonly promised?: Promised;
  readonly answer?: Pick<Reserved, 'now' | 'result'>;
  /** Of a finalize: what the commit answered. */
  readonly committed?: Hex;
  readonly isStub?: true;
};

/** Everything that a decision has read. Only named members of the request: its `webhookData` may be a secret. */
export function inputsOf<C extends Case>(
  { subject, read }: RecordedMode<C>,
  on: C,
  verdict: RecordedVerdict,
  { promised, answer, committed, isStub }: AnswerParts,
): DecidedInputs {
  const { paymaster, chain, profile, request, usage, validation } = on;
  const { mode, token } = subject(on);
  const { webhooks, payment } = read(on);
  return {
    kind: 'decided',
    mode,
    verdict,
    request: {
      op: request.op,
      calculateGasLimits: request.calculateGasLimits,
      expirySeconds: request.expirySeconds,
      method: request.method,
      phase: request.phase,
      ...given({ campaign: request.campaign }),
      committed,
      feeToken: token,
      isStub,
    },
    generations: { paymaster: paymaster.configGeneration, chain: chain.config.configGeneration },
    entryPoint: profile.entryPointKey,
    now: on.now,
    head: on.head,
    dataReading: on.dataReading,
    usdPerNative: on.usdPerNative,
    estimate: on.estimate,
    webhooks,
    payment,
    validation: validation && recordedVerdict(validation),
    usage: usageAnswer(promised ?? usage?.promised, answer ?? usage),
  };
}

/** The place of the decision; undefined when the usage store was not asked. */
export function orderIn({ usage }: Case, { answer = usage }: AnswerParts): number | undefined {
  return answer?.result.order;
}

function usageAnswer(promised: Promised | undefined, answer: AnswerParts['answer']): UsageAnswer | undefined {
  if (promised === undefined || answer === undefined) return undefined;
  const { prefundWei, validUntil } = promised.promise;
  return { outcome: answer.result.outcome, plannedAt: answer.now, prefundWei, validUntil };
}
