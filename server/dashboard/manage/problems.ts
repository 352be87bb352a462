import { listSchemaOf, wholeList } from '../shape.js';
import { inOrder, type Problem } from '../../../core/problems/problems.js';
import { problemExample, problemSchema, renderProblem } from '../../../core/problems/render.js';
import type { Reply } from '../call.js';
import type { Tools } from '../deps.js';
import { endpoint } from '../endpoint.js';
import { findProblems, type Whose } from './find-problems.js';

/** More than anybody reads. */
const mostProblems = 500;
/** Among so many the gravest are looked for. */
const mostFound = 5_000;

export const problemsAnswer = {
  schema: listSchemaOf(problemSchema, {
    complete: {
      type: 'boolean',
      description: `False: there are more than ${mostProblems}; the gravest are answered.`,
    },
  }),
  example: { ...wholeList([problemExample]), complete: true },

  async of(tools: Tools, whose: Whose): Promise<Reply> {
    const found: Problem[] = [];
    for await (const each of findProblems(tools, whose)) if (found.push(each) > mostFound) break;
    const problems = inOrder(found).slice(0, mostProblems).map(renderProblem);
    return { data: { ...wholeList(problems), complete: found.length <= mostProblems } };
  },
};

export const problemsEndpoint = endpoint({
  operationId: 'listProblems',
  summary: 'What is wrong with the objects of the organisation and the chains that it uses',
  method: 'get',
  path: '/problems',
  scope: 'organisation',
  needs: ['read', 'stop'],
  cost: 'list',
  schema: problemsAnswer.schema,
  example: problemsAnswer.example,
  handle: (tools, { principal }) => problemsAnswer.of(tools, principal),
});
