import type { WebhookConfig } from './spec.js';

/**
 * Port: asks customer-hosted rule endpoints. All webhooks of a request are called at once, each inside its own time (3 s unless the policy says otherwise),
 * one retry each on connection error or 5xx, no redirects, SSRF-guarded. Never throws for what the host does.
 *
 * What is not the host's doing is never an outcome that `onError: Allow` could open: too many calls of this paymaster wait,
 * this process is too busy to read answers, or it stops. Then `call` throws DomainError UNAVAILABLE (`WEBHOOK_BUSY`).
 */
export type WebhookCaller = {
  call(request: WebhookRequest): Promise<readonly WebhookOutcome[]>;
  stop(): Promise<void>;
};

export type WebhookRequest = {
  /** Whose share of a host the calls take. */
  readonly paymasterId: string;
  /** Whose share of all calls of the process they take: one organisation may have many paymasters. */
  readonly organisation: string;
  readonly webhooks: readonly WebhookConfig[];
  /** `sponsorshipInfo.webhookData`; `{}` when absent. */
  readonly data: unknown;
  /** The operation as it will be signed: ERC-4337 field names, hex quantities. */
  readonly userOp: Readonly<Record<string, unknown>>;
  readonly requestId: string;
  /** A trial by the policy's owner: the header X-Test-Delivery says so. */
  readonly isTest?: true;
};

/** In the order of the webhooks. `failed` says what was wrong (host, status, time), for explain and logs. */
export type WebhookOutcome =
  | { readonly verdict: 'verified' }
  /** The host said no, or (`detail` says why) the caller's data cannot be put to it, which is the caller's doing. */
  | {
      readonly verdict: 'refused';
      readonly detail?: string;
      /** What the host said of it, cleaned: for the caller too. */
      readonly reason?: string;
    }
  | { readonly verdict: 'failed'; readonly detail: string }
  /** Our own rules ended it (the URL, an inner address, too long an answer): refuses whatever `onError` says. */
  | { readonly verdict: 'blocked'; readonly detail: string };
