import { hasPreviousKey, httpUrl, instant, neverFalls } from '../../meta/schema-parts.js';
import { choice, integer, number, object, type Infer } from '../../schema/structural.js';
import type { HostPolicy } from '../policy-hosts.js';

export const webhookTimeoutSeconds = { minimum: 0.5, maximum: 10 } as const;

export const webhookSchema = object(
  'A check by a host of yours, for policyType WEBHOOK.',
  {
    required: {
      url: httpUrl(
        'Address that is asked, e.g. https://shop.example.org/paymaster; it answers {"arePoliciesVerified": true} to pass. Its host is public, or one of the private network that the platform lists (webhooks.allowedPrivateHosts of the chart).',
      ),
    },
    optional: {
      method: choice('POST sends a JSON body, GET sends the data as query parameters. Default POST.', [
        'POST',
        'GET',
      ]),
      onError: choice(
        'What a host that fails means. Default Deny: nothing is sponsored then. Allow means that anyone who can overload your host is sponsored: whatever the other policies pass is sponsored without a check while the host is away (but its name exists), takes longer than timeoutSeconds, or answers HTTP 5xx or a body without a boolean arePoliciesVerified. Only spending limits bound what that costs: have one. HTTP 4xx (but 404, 408, 410, 421, 425, 429) is a "no"; calls that wait in our own queue are never sponsored.',
        ['Deny', 'Allow'],
      ),
      timeoutSeconds: number(
        'How long the host has to answer, one retry included: 0.5 to 10. Default 3. A wallet waits as long for its sponsorship.',
        webhookTimeoutSeconds,
      ),
      keyGeneration: integer(
        'Raise it to rotate the signing key. Default: the highest that a policy of this name ever had, else 1.',
        { minimum: 1, maximum: 1_000_000 },
      ),
      previousKeyUntil: instant(
        'Until then, e.g. "2026-12-01T00:00:00Z", X-Signature is made with the key of the generation before, and X-Signature-Next with the new one.',
      ),
    },
  },
  neverFalls('keyGeneration', 'a rotated key'),
  hasPreviousKey,
);

export type WebhookSpec = Infer<typeof webhookSchema>;

/** What is served for a webhook. */
export type WebhookConfig = HostPolicy;
