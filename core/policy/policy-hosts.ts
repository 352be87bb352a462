import type { EpochMs } from '../units/time.js';

/** A policy about which a host is asked that belongs to the policy's owner. */
export type HostPolicy = {
  readonly policyId: string;
  readonly name: string;
  readonly shadow?: true;
  readonly url: string;
  readonly method: 'POST' | 'GET';
  /** What a failure of the host means. */
  readonly onError: 'Deny' | 'Allow';
  /** Absent: 3000. */
  readonly timeoutMs?: number;
  /** Generation of the signing key; absent: 1. */
  readonly keyGeneration?: number;
  /** Until then X-Signature uses the key of the previous generation. */
  readonly previousKeyUntil?: EpochMs;
};

/**
 * Port: calls the rule endpoints that customers host. Calls the hosts of all policies of a request at the same time, each within
 * its own timeout (3 s unless the policy says otherwise), with one retry on a connection error or 5xx, no redirects,
 * and protection against SSRF. Never throws because of what the host does.
 *
 * A cause that is not the host's fault never becomes an outcome that `onError: Allow` could let through: too many
 * calls of this paymaster are waiting, this process is too busy to read answers, or it is stopping. Then `call`
 * throws DomainError UNAVAILABLE (`WEBHOOK_BUSY`).
 */
export type PolicyHosts = {
  call(request: HostRequest): Promise<readonly HostOutcome[]>;
  stop(): Promise<void>;
};

export type HostRequest = {
  /** The paymaster whose share of a host the calls use. */
  readonly paymasterId: string;
  /** The organisation whose share of all calls of the process they use: one organisation may have many paymasters. */
  readonly organisation: string;
  readonly policies: readonly HostPolicy[];
  /** `sponsorshipInfo.webhookData`; `{}` when absent. */
  readonly data: unknown;
  /** The operation as it will be signed: ERC-4337 field names, hex quantities. */
  readonly userOp: Readonly<Record<string, unknown>>;
  readonly requestId: string;
  /** True for policies in Shadow: their calls have a small pool to themselves, and are turned away when it is full. */
  readonly isShadow?: true;
  /** True for a test by the policy's owner: the header X-Test-Delivery says so. */
  readonly isTest?: true;
};

/** In the order of the policies. `failed` says what went wrong (host, status, time), for explanations and logs. */
export type HostOutcome =
  | { readonly verdict: 'verified' }
  /**
   * The host said no, or (then `detail` says why) the data of the caller cannot be sent to it, which is the caller's
   * fault.
   */
  | {
      readonly verdict: 'refused';
      readonly detail?: string;
      /** The host's reason, cleaned, so that the caller may see it too. */
      readonly reason?: string;
    }
  | { readonly verdict: 'failed'; readonly detail: string }
  /**
   * Our own rules stopped it (the URL, an internal address, an answer that is too long): refuses whatever `onError`
   * says.
   */
  | { readonly verdict: 'blocked'; readonly detail: string };
