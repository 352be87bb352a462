import { eachObject } from '../../../adapters/resources/pages.js';
import { arrayOf, record } from '../../../core/schema/json-schema.js';
import { endpoint } from '../endpoint.js';
import { text } from '../record-schemas.js';
import { nouns } from './nouns.js';
import { troubleExample, troubleMembers, troublesOf } from './troubles.js';

/** More than anybody reads. */
const mostProblems = 500;

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
        ...troubleMembers,
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
        ...troubleExample,
      },
    ],
    complete: true,
  },

  async handle({ resources }, { principal: { namespace } }) {
    const problems: object[] = [];
    for (const [noun, { kind }] of Object.entries(nouns))
      for await (const { metadata, spec, status } of eachObject(resources, kind, { namespace })) {
        for (const trouble of troublesOf({ metadata, status }))
          problems.push({ noun, name: metadata.name, displayName: spec.name, ...trouble });
        if (problems.length > mostProblems)
          return { data: { problems: problems.slice(0, mostProblems), complete: false } };
      }
    return { data: { problems, complete: true } };
  },
});
