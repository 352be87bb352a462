import { listSchemaOf, wholeList } from '../shape.js';
import { paymasterIdOf } from '../../../core/config/ids.js';
import { DomainError, quote } from '../../../core/errors.js';
import { readRules } from '../../decision/show/read-rules.js';
import { ruleSchema } from '../../decision/show/rule-schema.js';
import { tableOf } from '../call.js';
import { endpoint } from '../endpoint.js';
import { address } from '../parameters.js';
import { nouns } from './nouns.js';
import { present } from './object-changes.js';
import { ruleOfContracts, ruleOfPolicy } from './policy-rules.js';

const columns = [
  'policyType',
  'policyId',
  'name',
  'enforcement',
  'campaign',
  'says',
  'verdict',
  'remaining',
  'turnsAt',
];

export const rulesEndpoint = endpoint({
  operationId: 'listRules',
  summary: 'Every rule of a paymaster that is in force, with what it says now',
  method: 'get',
  path: '/paymasters/:name/rules',
  scope: 'organisation',
  needs: ['read'],
  cost: 'reading',
  parameters: { sender: address('The account whose share of limits per account is shown.') },
  form: 'table',
  errors: { 404: 'The organisation has no such paymaster, or it is not served yet.' },
  schema: listSchemaOf(ruleSchema),
  example: wholeList([ruleOfContracts, ruleOfPolicy]),

  async handle(tools, call) {
    const { metadata } = await present(tools, call, nouns.paymasters);
    const served = await tools.configs.getPaymaster(paymasterIdOf(call.principal.tenant, metadata.name));
    if (served === undefined)
      throw new DomainError('NOT_FOUND', `The paymaster ${quote(metadata.name)} is not served yet`);
    const rules = await readRules(tools, served.config, tools.usage.now(), call.given.sender);
    return { data: wholeList(rules), table: tableOf(columns, rules) };
  },
});
