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
import { text } from '../record-schemas.js';
import { knownGeneration } from './keys.js';
import { nouns } from './nouns.js';
import { present } from './objects.js';

const members = {
  webhookData: { description: 'What the host gets as webhookData. Default: {}.' },
  userOp: { type: 'object', description: 'The operation that it gets. Default: one that calls nothing.' },
};

const body: Body<Sample> = {
  schemas: [record({}, members)],
  example: { webhookData: { plan: 'gold' }, userOp: sampleOperation },
  isOptional: true,
  parse(_tools, given) {
    const others = isObject(given) ? Object.keys(given).filter((each) => !Object.hasOwn(members, each)) : [];
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
  schema: record(
    {
      verdict: {
        enum: ['verified', 'refused', 'failed', 'blocked'],
        description:
          'failed: no answer that counts, and onError decides. blocked: we do not call such an address, or the answer is too long.',
      },
      wouldPass: { type: 'boolean', description: 'Whether an operation would pass this policy.' },
      durationMs: { type: 'integer', minimum: 0, description: 'A second attempt included.' },
      requestId: { ...text, description: 'As the host got it in X-Request-Id.' },
    },
    {
      reason: { ...text, description: 'Why the host refuses, as callers see it.' },
      detail: { ...text, description: 'What went wrong, e.g. the HTTP status. No body is shown.' },
    },
  ),
  example: {
    verdict: 'refused',
    reason: 'not a member',
    wouldPass: false,
    durationMs: 41,
    requestId: '0f8fad5b-d9cb-569f-a165-70867728950e',
  },

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
