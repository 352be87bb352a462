import { derivePaymasterId, derivePolicyId } from '../../../core/config/ids.js';
import { DomainError, invalidInput } from '../../../core/errors.js';
import { compileWebhook } from '../../../core/policy/webhook/kind.js';
import { record } from '../../../core/schema/json-schema.js';
import { isObject } from '../../../core/schema/json-value.js';
import { otherMembers } from '../../http/json.js';
import {
  deliverTest,
  parseSample,
  sampleOperation,
  takeDelivery,
  type Sample,
} from '../../http/test-delivery.js';
import { endpoint, type Body } from '../endpoint.js';
import { deliveryBody, deliveryExample, deliverySchema } from '../openapi-webhook.js';
import { knownGeneration } from './keys.js';
import { nouns } from './nouns.js';
import { requirePresent } from './object-changes.js';

const body: Body<Sample> = {
  schemas: [record({}, deliveryBody)],
  example: { webhookData: { plan: 'gold' }, userOp: sampleOperation },
  isOptional: true,
  parse(_tools, given) {
    const body = isObject(given) ? given : {};
    const others = otherMembers(body, Object.keys(deliveryBody), 'made of webhookData and userOp');
    if (others.length > 0) throw invalidInput(others);
    return parseSample(given);
  },
};

/** As the policy is written now, also while it is paused or not programmed yet: so that it can be tried before it judges. */
export const testWebhookEndpoint = endpoint({
  operationId: 'testPolicyWebhook',
  summary: 'Ask the host of a webhook, marked as a test: nothing is sponsored by its answer',
  method: 'post',
  path: '/policies/:name/test',
  scope: 'organisation',
  cost: 'host',
  body,
  errors: {
    404: 'The organisation has no such policy, or it is not a webhook.',
    503: 'Too many calls wait for the host, or the process has no time to read an answer.',
  },
  schema: deliverySchema,
  example: deliveryExample,

  async handle(tools, call) {
    const { principal, body: sample, requestId } = call;
    const { tenant } = principal;
    const { metadata, spec } = await requirePresent(tools, call, nouns.policies);
    if (spec.webhook === undefined)
      throw new DomainError('NOT_FOUND', `A policy of type ${spec.policyType} asks no host`);
    takeDelivery(tools.deliveries, tenant);
    const policyId = derivePolicyId(tenant, metadata.name);
    const paymaster = spec.paymasterRef.name;
    const known = await knownGeneration(tools, tenant, paymaster, policyId);
    const config = compileWebhook({ policyId, name: spec.name }, spec.webhook, known);
    const data = await deliverTest(tools.webhooks, config, sample, {
      paymasterId: derivePaymasterId(tenant, paymaster),
      organisation: tenant,
      requestId,
    });
    tools.log.info('webhook test delivery', { requestId, policyId, verdict: data.verdict });
    return { data };
  },
});
