import type { ConditionReason, ConditionType } from '../meta/condition-reasons.js';
import { conditionRemedy } from '../meta/condition-remedies.js';

/** Critical: something is not signed, or money is at risk. Warning: it soon will be, or may be. Note: it may be meant so. */
export const severities = ['critical', 'warning', 'note'] as const;
export type Severity = (typeof severities)[number];

type Shown = { [T in ConditionType]: `${T}/${ConditionReason<T>}` }[ConditionType];

/** One thing that can be wrong. */
export type Check = {
  readonly severity: Severity;
  /** What is wrong, as a sentence. */
  readonly what: string;
  /**
   * What to do, where its conditions do not say it. A condition with its reason may have another remedy, which then goes first. Absent: that
   * of the first condition.
   */
  readonly remedy?: string;
  /** Conditions, with their reasons, by which a status shows it. */
  readonly conditions?: readonly Shown[];
  /** Checks of `/readyz` that fail then. */
  readonly readiness?: readonly string[];
  /** The alert that sounds then; docs/runbooks.md has a section for it. */
  readonly alert?: string;
  /** True: it is shown to the platform alone, also where it is in the status of a chain that an organisation uses. */
  readonly isOfPlatform?: true;
};

export type Checks = Readonly<Record<string, Check>>;

/** Empty: nobody has written one, which a test refuses. */
export function remedyOfCheck({ remedy, conditions: [first] = [] }: Check): string {
  return remedy ?? (first && conditionRemedy(first)) ?? '';
}
