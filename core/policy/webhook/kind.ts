import { formatProblem, unreachable } from '../../errors.js';
import { parseInstant } from '../../units/time.js';
import type { PolicyIdentity, PolicyKind, PolicyRecord } from '../kind.js';
import { createGlance } from '../modes.js';
import { webhookSchema, webhookTimeoutSeconds, type WebhookConfig, type WebhookSpec } from './schema.js';
import { checkWebhookUrl } from './webhook-url.js';
import { pass, refuse, type Verdict } from '../../refusal.js';
import type { HostOutcome } from '../policy-hosts.js';
import { readField } from '../../schema/json-value.js';
import { choice, number, object, text } from '../../schema/structural.js';
import { deriveWebhookKey } from './signing-key.js';

type Webhooks = { readonly webhooks: readonly WebhookConfig[] };
/** Apart, because those in Shadow are called beside the request. */
type Served = Webhooks & { readonly shadowWebhooks?: readonly WebhookConfig[] };

/** The dashboard does not rotate keys; owners do that in the resource itself. */
type WebhookBody = Omit<WebhookSpec, 'keyGeneration' | 'previousKeyUntil'>;

/** The signing key of a webhook is derived. The dashboard shows it once, in the answer to creating the webhook. */
const webhookRecord: PolicyRecord<WebhookSpec, WebhookBody> = {
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
    const url = readField(data, 'url');
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

/** A check by a host that belongs to the policy's owner. */
export const webhook = {
  member: 'webhook',
  schema: webhookSchema,
  most: { count: 5, name: 'webhooks' },
  // Judges the text of the URL only; its addresses are judged at each call.
  problem({ url }, { webhookUrls }) {
    const wrong = checkWebhookUrl(url, webhookUrls, 'spec.webhook.url');
    return wrong && `${formatProblem(wrong)}.`;
  },
  compile({ spec, policyId, name }, known) {
    const config = compileWebhook({ policyId, name }, spec, known.keyGeneration);
    return { config, keyGeneration: config.keyGeneration ?? 1 };
  },
  config: {
    write: (webhooks) => ({ webhooks }),
    read: ({ webhooks }, { policyId }) => webhooks.find((each) => each.policyId === policyId),
    serve({ webhooks }) {
      const shadows = webhooks.filter(({ shadow }) => shadow === true);
      const enforced = webhooks.filter(({ shadow }) => shadow !== true);
      return {
        webhooks: enforced.length === 0 ? none : enforced,
        ...(shadows.length === 0 ? {} : { shadowWebhooks: shadows }),
      };
    },
  },
  asks: {
    step: 'webhooks',
    shadowStep: 'shadowWebhooks',
    policies: ({ webhooks }) => webhooks,
    shadows: ({ shadowWebhooks = none }) => shadowWebhooks,
    decide: decideWebhooks,
  },
  glance: ({ webhooks, shadowWebhooks = [] }) =>
    [...webhooks, ...shadowWebhooks].map((each) => {
      // The rest of the URL may hold a secret of its owner.
      const host = URL.canParse(each.url) ? new URL(each.url).host : 'its host';
      const onError = each.onError === 'Deny' ? 'refuses' : 'lets operations pass';
      return createGlance(each, { says: `asks ${host}, and ${onError} when that does not answer` });
    }),
  record: webhookRecord,
} as const satisfies PolicyKind<WebhookSpec, WebhookConfig, Webhooks, Served, WebhookBody>;

/** Shared by all paymasters without webhooks: there may be a hundred thousand of them. */
const none: readonly never[] = Object.freeze([]);

export function compileWebhook(
  { policyId, name }: PolicyIdentity,
  spec: WebhookSpec,
  knownGeneration: number,
): WebhookConfig {
  // Re-creating an object without a generation must not bring a rotated key back.
  const keyGeneration = Math.max(spec.keyGeneration ?? 1, knownGeneration);
  // The overlap was granted for the generation in the spec, not for a later one.
  const isOwn = keyGeneration === spec.keyGeneration;
  const previousKeyUntil = isOwn ? parseInstant(spec.previousKeyUntil ?? '') : undefined;
  return {
    policyId,
    name,
    url: spec.url,
    method: spec.method ?? 'POST',
    onError: spec.onError ?? 'Deny',
    ...(spec.timeoutSeconds === undefined ? {} : { timeoutMs: Math.round(spec.timeoutSeconds * 1000) }),
    ...(keyGeneration === 1 ? {} : { keyGeneration }),
    ...(keyGeneration === 1 || previousKeyUntil === undefined ? {} : { previousKeyUntil }),
  };
}

/**
 * All webhooks must agree. A clear "no" is reported before a failure, because the client can act on a "no". A failure
 * of the host refuses unless the policy's owner chose `onError: Allow`. A webhook that we did not call always
 * refuses: otherwise anyone who can keep us from calling it would get past the policy.
 */
export function decideWebhooks(
  webhooks: readonly WebhookConfig[],
  outcomes: readonly HostOutcome[],
): Verdict {
  const verdicts = webhooks.map((webhook, index) => {
    const verdict = decideOne(webhook, outcomes[index]);
    return verdict.pass ? verdict : { ...verdict, policyId: webhook.policyId };
  });
  const refusals = verdicts.filter((verdict) => !verdict.pass);
  return refusals.find(({ reason }) => reason === 'WEBHOOK_REFUSED') ?? refusals[0] ?? pass;
}

function decideOne(webhook: WebhookConfig, outcome: HostOutcome | undefined): Verdict {
  if (outcome === undefined) return refuse('WEBHOOK_FAILED', `policy "${webhook.name}": was not called`);
  switch (outcome.verdict) {
    case 'verified':
      return pass;
    case 'refused':
      return {
        ...refuse(
          'WEBHOOK_REFUSED',
          `policy "${webhook.name}": ${outcome.detail ?? 'arePoliciesVerified is false'}${
            outcome.reason === undefined ? '' : ` (${outcome.reason})`
          }`,
        ),
        ...(outcome.reason === undefined ? {} : { webhookReason: outcome.reason }),
      };
    case 'failed':
      if (webhook.onError === 'Allow') return pass;
      return refuse('WEBHOOK_FAILED', `policy "${webhook.name}": ${outcome.detail}`);
    case 'blocked':
      return refuse('WEBHOOK_FAILED', `policy "${webhook.name}": ${outcome.detail}`);
    default:
      return unreachable(outcome);
  }
}
