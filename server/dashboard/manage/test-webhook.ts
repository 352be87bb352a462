import { paymasterIdOf, policyIdOf } from '../../../core/config/ids.js';
import { DomainError, invalidInput, quote } from '../../../core/errors.js';
import { isObject } from '../../../core/schema/json-value.js';
import { record } from '../../../core/schema/json-schema.js';
import { webhookConfigOf } from '../../../core/policy/webhook/kind.js';
import {
  deliverTest,
  deliveriesAtOnce,
  parseSample,
  sampleOperation,
  type Sample,
} from '../../http/test-delivery.js';
import type { Body } from '../endpoint.js';
import { endpoint } from '../endpoint.js';
import { deliveryBody, deliveryExample, deliverySchema } from '../openapi-webhook.js';
import { knownGeneration } from './keys.js';
import { nouns } from './nouns.js';
import { present } from './object-changes.js';

const body: Body<Sample> = {
  schemas: [record({}, deliveryBody)],
  example: { webhookData: { plan: 'gold' }, userOp: sampleOperation },
  isOptional: true,
  parse(_tools, given) {
    const others = isObject(given)
      ? Object.keys(given).filter((each) => !Object.hasOwn(deliveryBody, each))
      : [];
    if (others.length > 0)
      throw invalidInput(
        others.map((each) => ({
          field: 'body',
          expected: 'made of webhookData and userOp',
          value: quote(each),
        })),
      );
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
    const { metadata, spec } = await present(tools, call, nouns.policies);
    if (spec.webhook === undefined)
      throw new DomainError('NOT_FOUND', `A policy of type ${spec.policyType} asks no host`);
    const wait = tools.deliveries.take(tenant, deliveriesAtOnce);
    if (wait > 0)
      throw new DomainError('RATE_LIMITED', 'The organisation has sent too many test deliveries', {
        retryAfterSeconds: wait,
      });
    const policyId = policyIdOf(tenant, metadata.name);
    const paymaster = spec.paymasterRef.name;
    const known = await knownGeneration(tools, tenant, paymaster, policyId);
    const config = webhookConfigOf({ policyId, name: spec.name }, spec.webhook, known);
    const data = await deliverTest(tools.webhooks, config, sample, {
      paymasterId: paymasterIdOf(tenant, paymaster),
      organisation: tenant,
      requestId,
    });
    tools.log.info('webhook test delivery', { requestId, policyId, verdict: data.verdict });
    return { data };
  },
});
