import type { WebhookConfig } from './schema.js';
import { unreachable } from '../../errors.js';
import { pass, refuse, type Verdict } from '../../refusal.js';
import type { HostOutcome } from '../policy-hosts.js';

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
        ...(outcome.reason === undefined ? {} : { hostReason: outcome.reason }),
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
