import type { EpochMs } from '../../units/time.js';

export type WebhookSpec = {
  readonly url: string;
  /** Default POST. GET sends the data as query parameters. */
  readonly method?: 'POST' | 'GET';
  /** Default Deny: a webhook that fails refuses the request. */
  readonly onError?: 'Deny' | 'Allow';
  /** How long the host has to answer, its retry included: 0.5 to 10. Default 3. */
  readonly timeoutSeconds?: number;
  /** Raising it rotates the signing key. Default 1. */
  readonly keyGeneration?: number;
  /** RFC 3339; until then X-Signature is by the key of `keyGeneration - 1`, and X-Signature-Next by the new one. */
  readonly previousKeyUntil?: string;
};

/** What is served of it. */
export type WebhookConfig = {
  readonly policyId: string;
  readonly name: string;
  readonly url: string;
  readonly method: 'POST' | 'GET';
  readonly onError: 'Deny' | 'Allow';
  /** Absent: 3000. */
  readonly timeoutMs?: number;
  /** Of the signing key; absent: 1. */
  readonly keyGeneration?: number;
  /** Until then X-Signature is by the key of the generation before. */
  readonly previousKeyUntil?: EpochMs;
};
