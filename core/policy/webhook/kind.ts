import { formatProblem } from '../../errors.js';
import { parseInstant } from '../../units/time.js';
import type { PolicyIdentity, PolicyKind } from '../kind.js';
import { decideWebhooks } from './decide.js';
import { glanceOf } from '../modes.js';
import { webhookRecord, type WebhookBody } from './record.js';
import { webhookSchema, type WebhookConfig, type WebhookSpec } from './schema.js';
import { checkWebhookUrl } from './webhook-url.js';

type Webhooks = { readonly webhooks: readonly WebhookConfig[] };
/** Apart, because those in Shadow are called beside the request. */
type Served = Webhooks & { readonly shadowWebhooks?: readonly WebhookConfig[] };

/** A check by a host that belongs to the policy's owner. `decide.ts` judges the answers of all hosts together. */
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
    const config = webhookConfigOf({ policyId, name }, spec, known.keyGeneration);
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
      return glanceOf(each, { says: `asks ${host}, and ${onError} when that does not answer` });
    }),
  record: webhookRecord,
} as const satisfies PolicyKind<WebhookSpec, WebhookConfig, Webhooks, Served, WebhookBody>;

/** Shared by all paymasters without webhooks: there may be a hundred thousand of them. */
const none: readonly never[] = Object.freeze([]);

export function webhookConfigOf(
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
