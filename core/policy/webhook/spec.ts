import type { HostPolicy } from '../policy-hosts.js';

export type WebhookSpec = {
  readonly url: string;
  /** Default POST. GET sends the data as query parameters. */
  readonly method?: 'POST' | 'GET';
  /** Default Deny: when a webhook fails, the request is refused. */
  readonly onError?: 'Deny' | 'Allow';
  /** How long the host has to answer, its retry included: 0.5 to 10. Default 3. */
  readonly timeoutSeconds?: number;
  /** Raising it rotates the signing key. Default 1. */
  readonly keyGeneration?: number;
  /** RFC 3339. Until then X-Signature uses the key of `keyGeneration - 1`, and X-Signature-Next the new key. */
  readonly previousKeyUntil?: string;
};

/** What is served for a webhook. */
export type WebhookConfig = HostPolicy;
