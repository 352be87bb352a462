import { eachObject } from '../../../adapters/resources/pages.js';
import {
  conditionReasons,
  type ConditionType,
  type ReasonText,
} from '../../../core/meta/condition-reasons.js';
import { remedyOf } from '../../../core/meta/condition-remedies.js';
import { arrayOf, record } from '../../../core/schema/json-schema.js';
import { endpoint } from '../endpoint.js';
import { textOrNull, time } from '../ledger/schemas.js';
import { text } from '../record-schemas.js';
import { nouns } from './nouns.js';

/** Of these conditions True is the trouble. */
const troubles: readonly string[] = ['OpenSponsorship', 'CapsLimited'] satisfies readonly ConditionType[];
/** More than anybody reads. */
const mostProblems = 500;
const reasons: Readonly<Record<string, Readonly<Record<string, ReasonText>>>> = conditionReasons;

export const problemsEndpoint = endpoint({
  operationId: 'listProblems',
  summary: 'What of the organisation is not as it should be, and why',
  method: 'get',
  path: '/problems',
  scope: 'organisation',
  needs: ['read', 'stop'],
  cost: 'list',
  schema: record({
    problems: arrayOf(
      record({
        noun: { enum: Object.keys(nouns) },
        name: text,
        displayName: text,
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
      }),
    ),
    complete: { type: 'boolean', description: `False: there are more than ${mostProblems}.` },
  }),
  example: {
    problems: [
      {
        noun: 'contracts',
        name: 'counter',
        displayName: 'counter',
        condition: 'ResolvedRefs',
        reason: 'PaymasterNotFound',
        meaning: 'The paymasterRef names no Paymaster of this namespace.',
        remedy: 'Create it, or correct the name.',
        message: 'There is no Paymaster shop in this namespace.',
        since: '2026-01-01T00:00:00Z',
        isCurrent: true,
      },
    ],
    complete: true,
  },

  async handle({ resources }, { principal: { namespace } }) {
    const problems: object[] = [];
    for (const [noun, { kind }] of Object.entries(nouns))
      for await (const { metadata, spec, status } of eachObject(resources, kind, { namespace })) {
        const { conditions = [] } = status ?? {};
        // Ready only sums up the others.
        const bad = conditions.filter(
          ({ status: is, type }) => type !== 'Ready' && (is === 'True') === troubles.includes(type),
        );
        for (const { type, reason, message, lastTransitionTime, observedGeneration } of bad)
          problems.push({
            noun,
            name: metadata.name,
            displayName: spec.name,
            condition: type,
            reason,
            meaning: reasons[type]?.[reason]?.text ?? null,
            remedy: remedyOf(type, reason) ?? null,
            message,
            since: lastTransitionTime,
            isCurrent: observedGeneration === metadata.generation,
          });
        if (problems.length > mostProblems)
          return { data: { problems: problems.slice(0, mostProblems), complete: false } };
      }
    return { data: { problems, complete: true } };
  },
});
