import { conditionReasons } from '../meta/condition-reasons.js';
import { conditionRemedy } from '../meta/condition-remedies.js';
import { kindNames } from '../resources/kinds.js';
import { arrayOf, record, type JsonSchema } from '../schema/json-schema.js';
import { severities } from './check.js';
import { checkIds } from './checks.js';
import type { Problem } from './problems.js';

/** As the management API calls what may have problems. */
const nouns = {
  Chain: kindNames.Chain.plural,
  FeeToken: kindNames.FeeToken.plural,
  Organisation: kindNames.Organisation.plural,
  Paymaster: 'paymasters',
  SmartContract: 'contracts',
  PaymasterPolicy: 'policies',
  DashboardToken: 'tokens',
  Process: 'processes',
  Installation: 'installation',
} as const satisfies Record<Problem['kind'], string>;

const text: JsonSchema = { type: 'string' };
const textOrNull: JsonSchema = { type: ['string', 'null'] };

export const problemSchema = record({
  check: { enum: checkIds, description: 'Row of the table in docs/runbooks.md.' },
  severity: {
    enum: severities,
    description:
      'critical: something is not signed, or money is at risk. warning: it may soon be so. note: it may be meant so.',
  },
  noun: { enum: Object.values(nouns) },
  namespace: textOrNull,
  name: text,
  displayName: text,
  condition: { ...textOrNull, description: 'Of the status that shows it.' },
  reason: textOrNull,
  meaning: text,
  remedy: { ...text, description: 'What to do.' },
  message: { ...text, description: 'What is seen. To an organisation, of a chain: the meaning.' },
  since: { ...textOrNull, format: 'date-time', description: 'UTC; null where nobody wrote it down.' },
  isCurrent: {
    type: 'boolean',
    description: 'False: the object was changed since, and not looked at again.',
  },
  runbook: text,
});
export const problemsSchema = arrayOf(problemSchema);

export const problemExample: ProblemRecord = {
  check: 'reference-missing',
  severity: 'warning',
  noun: 'contracts',
  namespace: 'team-a',
  name: 'counter',
  displayName: 'counter',
  condition: 'ResolvedRefs',
  reason: 'PaymasterNotFound',
  meaning: conditionReasons.ResolvedRefs.PaymasterNotFound.text,
  remedy: conditionRemedy('ResolvedRefs/PaymasterNotFound') ?? '',
  message: 'There is no Paymaster shop in this namespace.',
  since: '2026-01-01T00:00:00Z',
  isCurrent: true,
  runbook: 'docs/runbooks.md#reference-missing',
};

export type ProblemRecord = ReturnType<typeof renderProblem>;

export function renderProblem({ kind, namespace, condition, reason, since, ...rest }: Problem) {
  return {
    noun: nouns[kind],
    ...rest,
    namespace: namespace ?? null,
    condition: condition ?? null,
    reason: reason ?? null,
    since: since ?? null,
  };
}
