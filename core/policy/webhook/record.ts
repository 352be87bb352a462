import { fieldOf } from '../../schema/json-value.js';
import { choice, number, object, text } from '../../schema/structural.js';
import type { PolicyRecord } from '../kind.js';
import { webhookTimeoutSeconds, type WebhookSpec } from './schema.js';
import { deriveWebhookKey } from './signing-key.js';
import { checkWebhookUrl } from './webhook-url.js';

/** The dashboard does not rotate keys; owners do that in the resource itself. */
export type WebhookBody = Omit<WebhookSpec, 'keyGeneration' | 'previousKeyUntil'>;

/** The signing key of a webhook is derived. The dashboard shows it once, in the answer to creating the webhook. */
export const webhookRecord: PolicyRecord<WebhookSpec, WebhookBody> = {
  body: object('Data of a webhook rule.', {
    required: {
      url: text('Address that is asked for each operation.', { minLength: 1, maxLength: 2048 }),
    },
    optional: {
      method: choice('How it is asked; POST when absent.', ['POST', 'GET']),
      timeoutSeconds: number(
        'Time for the host to answer, one retry included; 3 when absent.',
        webhookTimeoutSeconds,
      ),
      onError: choice(
        'What a failing webhook means; Deny when absent. Allow means that anyone who can overload your host is sponsored: only spending limits bound what that costs.',
        ['Deny', 'Allow'],
      ),
    },
  }),
  problems: (data, prefix, { webhookUrls }) => {
    const url = fieldOf(data, 'url');
    const problem = typeof url === 'string' ? checkWebhookUrl(url, webhookUrls, `${prefix}url`) : undefined;
    return problem ? [problem] : [];
  },
  specOf: (body) => body,
  render: ({ spec }) => ({ ...spec }),
  answer: {
    required: { url: { type: 'string' } },
    optional: {
      timeoutSeconds: { type: 'number', minimum: 0.5, maximum: 10 },
      method: { enum: ['POST', 'GET'] },
      onError: {
        enum: ['Deny', 'Allow'],
        description:
          'What a failing webhook means. Allow means that anyone who can overload your host is sponsored: only spending limits bound what that costs.',
      },
    },
  },
  once: {
    answer: { signingKey: { type: 'string' } },
    render: ({ webhookMaster, policyId, keyGeneration }) => ({
      signingKey: deriveWebhookKey(webhookMaster, policyId, keyGeneration),
    }),
  },
};
