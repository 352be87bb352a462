import { readRules } from '../../decision/show/read-rules.js';
import { ruleSchema } from '../../decision/show/rule-schema.js';
import { toTable } from '../call.js';
import { endpoint, reading } from '../endpoint.js';
import { address } from '../parameters.js';
import { listSchema, wholeList } from '../shape.js';
import { nouns } from './nouns.js';
import { requirePresent, servedConfig } from './object-changes.js';
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
  ...reading,
  operationId: 'listRules',
  summary: 'Every rule of a paymaster that is in force, with what it says now',
  path: '/paymasters/:name/rules',
  parameters: { sender: address('The account whose share of limits per account is shown.') },
  form: 'table',
  errors: { 404: 'The organisation has no such paymaster, or it is not served yet.' },
  schema: listSchema(ruleSchema),
  example: wholeList([ruleOfContracts, ruleOfPolicy]),

  async handle(tools, call) {
    const served = await servedConfig(tools, call, await requirePresent(tools, call, nouns.paymasters));
    const rules = await readRules(tools, served, tools.usage.now(), call.given.sender);
    return { data: wholeList(rules), table: toTable(columns, rules) };
  },
});
