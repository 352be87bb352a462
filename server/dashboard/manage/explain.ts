import { DomainError, invalidInput, quote } from '../../../core/errors.js';
import { arrayOf, openRecord, record } from '../../../core/schema/json-schema.js';
import { readField, isObject } from '../../../core/schema/json-value.js';
import { ruleSchema } from '../../decision/show/rule-schema.js';
import { otherMembers, requireObject } from '../../http/json.js';
import { sampleOperation } from '../../http/test-delivery.js';
import { currentApiKey } from '../auth.js';
import { endpoint, type Body } from '../endpoint.js';
import { text } from '../record-schemas.js';
import { about } from '../shape.js';
import { nouns } from './nouns.js';
import { requirePresent, servedConfig } from './object-changes.js';
import { ruleOfContracts } from './policy-rules.js';

type Question = { readonly userOp: unknown; readonly context: unknown };

const ordinary = { mode: 'SPONSORED' };
const members = {
  userOp: { type: 'object', description: 'The operation, as pm_sponsorUserOperation takes it.' },
  context: {
    type: 'object',
    description:
      'The mode object of that method. With callWebhook the webhooks are asked, too, which needs the scope write. Default: {"mode": "SPONSORED"}.',
  },
};

const body: Body<Question> = {
  schemas: [record({ userOp: members.userOp }, { context: members.context })],
  example: { userOp: sampleOperation, context: { mode: 'SPONSORED', calculateGasLimits: false } },
  parse(_tools, given) {
    const { userOp, context = ordinary } = requireObject(given);
    const problems = [
      ...otherMembers(Object(given), Object.keys(members), 'made of userOp and context'),
      // The server that decides reads what is in them.
      ...Object.entries({ userOp, context })
        .filter(([, value]) => !isObject(value))
        .map(([field, value]) => ({ field, expected: 'an object', value: quote(value) })),
    ];
    if (problems.length > 0) throw invalidInput(problems);
    return { userOp, context };
  },
};

const step = openRecord(
  { step: text, verdict: { enum: ['pass', 'refuse', 'skipped', 'error'] } },
  { reason: text, detail: text, remedy: text },
);

/**
 * Only the servers that sign can decide, so one of them is asked, which may be another pod. Whose the paymaster is, and what the token
 * may do, is decided here.
 */
export const explainEndpoint = endpoint({
  operationId: 'explainSponsorship',
  summary:
    'What would be decided about an operation now, step by step: nothing is signed, counted or recorded',
  method: 'post',
  path: '/paymasters/:name/explain',
  scope: 'organisation',
  needs: ['read'],
  cost: 'decision',
  body,
  errors: {
    404: 'The organisation has no such paymaster, or it is not served yet.',
    409: 'The paymaster is not ready: the message says why.',
    413: 'The body is larger than the JSON-RPC server takes.',
    501: 'The dashboard knows no JSON-RPC server.',
    503: 'The JSON-RPC server does not answer.',
  },
  schema: {
    description: 'As pm_explainSponsorship answers; /openrpc.json of the JSON-RPC server has every member.',
    ...openRecord(
      {
        mode: { enum: ['SPONSORED', 'ERC20'] },
        sponsored: {
          type: ['boolean', 'null'],
          description: 'Null: everything else passes, and webhooks that were not asked decide.',
        },
        steps: arrayOf(step, 'In order. The first that does not pass is why it would be refused.'),
        rules: arrayOf(ruleSchema, 'Every rule of the paymaster, with what it says about the operation.'),
      },
      { reason: about(text, 'Of the first step that does not pass.') },
    ),
  },
  example: {
    mode: 'SPONSORED',
    sponsored: false,
    reason: 'CONTRACT_NOT_REGISTERED',
    steps: [
      { step: 'suspended', verdict: 'pass' },
      {
        step: 'calls',
        verdict: 'refuse',
        reason: 'CONTRACT_NOT_REGISTERED',
        detail: 'call 0 to 0xd9320514462f98cf03c32d2fb3d3c608bbcd8f55 is to no registered contract',
        remedy: 'Register the contract for this paymaster.',
      },
    ],
    rules: [ruleOfContracts],
  },

  async handle(tools, call) {
    const { principal, body: question, requestId, gone } = call;
    const { tenant, scopes } = principal;
    if (readField(question.context, 'callWebhook') === true && !scopes.includes('write'))
      throw new DomainError('SCOPE_REQUIRED', 'The token needs the scope write to call webhooks');
    const paymaster = await requirePresent(tools, call, nouns.paymasters);
    if (tools.explanations === undefined)
      throw new DomainError('EXPLANATIONS_OFF', 'No JSON-RPC server is set that could explain');
    const { chainId, paymasterId } = await servedConfig(tools, call, paymaster);
    const asked = {
      ...question,
      chainId,
      apiKey: await currentApiKey(tools, tenant, paymaster),
      pass: tools.passes.issue(paymasterId),
      requestId,
    };
    return { data: await tools.explanations.ask(asked, gone) };
  },
});
