import { conditionReasons, warnsWhenTrue, type ReasonText } from '../../../core/meta/condition-reasons.js';
import { remedyOf } from '../../../core/meta/condition-remedies.js';
import type { Condition, ObjectMeta } from '../../../core/meta/meta.js';
import { textOrNull, time } from '../ledger/schemas.js';
import { text } from '../record-schemas.js';

const reasons: Readonly<Record<string, Readonly<Record<string, ReasonText>>>> = conditionReasons;

export const troubleMembers = {
  condition: text,
  reason: text,
  meaning: { ...textOrNull, description: 'Of the reason, as docs/conditions.md says it.' },
  remedy: { ...textOrNull, description: 'What to do.' },
  message: text,
  since: time,
  isCurrent: {
    type: 'boolean',
    description: 'False: the object was changed since, and not looked at again.',
  },
};

export const troubleExample = {
  condition: 'ResolvedRefs',
  reason: 'PaymasterNotFound',
  meaning: 'The paymasterRef names no Paymaster of this namespace.',
  remedy: 'Create it, or correct the name.',
  message: 'There is no Paymaster shop in this namespace.',
  since: '2026-01-01T00:00:00Z',
  isCurrent: true,
};

/** What the conditions of an object say that is not as it should be. Ready only sums up the others. */
export function troublesOf({
  metadata,
  status,
}: {
  readonly metadata: Pick<ObjectMeta, 'generation'>;
  readonly status?: { readonly conditions?: readonly Condition[] } | undefined;
}) {
  const { conditions = [] } = status ?? {};
  return conditions
    .filter(({ status: is, type }) => type !== 'Ready' && (is === 'True') === warnsWhenTrue.has(type))
    .map(({ type, reason, message, lastTransitionTime, observedGeneration }) => ({
      condition: type,
      reason,
      meaning: reasons[type]?.[reason]?.text ?? null,
      remedy: remedyOf(type, reason) ?? null,
      message,
      since: lastTransitionTime,
      isCurrent: observedGeneration === metadata.generation,
    }));
}
