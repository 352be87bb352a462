import type { OpenStep } from '../../core/usage/step-parts.js';
import type { TakenStep } from '../../core/usage/follower-step.js';

// Steps as JSON. Integers beyond 2^53 are objects with one member, which nothing else in a step is.

const bigMember = '$big';

/** JSON of one line, with every record as it is. */
export function formatStep(step: TakenStep | OpenStep['step']): string {
  return JSON.stringify(step, (_, value: unknown) =>
    typeof value === 'bigint' ? { [bigMember]: value.toString() } : value,
  );
}

/** Expects text that {@link formatStep} has written of a taken step. */
export function parseStep(text: string): TakenStep {
  return parse(text) as TakenStep;
}

/** Expects text that {@link formatStep} has written of a step that is open. */
export function parseOpenStep(text: string): OpenStep['step'] {
  return parse(text) as OpenStep['step'];
}

function parse(text: string): unknown {
  return JSON.parse(text, (_, value: unknown) =>
    typeof value === 'object' && value !== null && bigMember in value
      ? BigInt(String(value[bigMember]))
      : value,
  );
}
