import { formatProblem } from '../../core/errors.js';
import { deriveWebhookKey } from '../../core/policy/webhook/signing-key.js';
import type { WebhookConfig } from '../../core/policy/webhook/schema.js';
import { checkWebhookUrl, type WebhookUrlRules } from '../../core/policy/webhook/webhook-url.js';
import type { WebhookMasterKeys } from '../../core/secrets.js';
import type { Clock, EpochMs } from '../../core/units/time.js';

const maxPolicies = 10_000;

type Deps = WebhookUrlRules & { readonly masterKeys: WebhookMasterKeys; readonly clock: Clock };

/** What calls of each policy's webhook share: its judged URL, its signing keys and its breaker. */
export class WebhookEndpoints {
  readonly #deps: Deps;
  readonly #limits: BreakerLimits;
  readonly #byPolicy = new Map<string, Endpoint>();

  constructor(deps: Deps, limits: BreakerLimits) {
    this.#deps = deps;
    this.#limits = limits;
  }

  /** The endpoint of a policy; the same object, with its breaker, until its URL or its keys change. */
  of(webhook: WebhookConfig): Endpoint {
    const key = `${webhook.policyId} ${webhook.keyGeneration ?? 1} ${webhook.url}`;
    const known = this.#byPolicy.get(key);
    if (known !== undefined) return this.#withPresentKeys(key, known, webhook);

    // Bounded by forgetting all: the breakers start again, which costs a few calls in a fleet of ten thousand webhooks.
    if (this.#byPolicy.size >= maxPolicies) this.#byPolicy.clear();
    const endpoint = this.#create(webhook);
    this.#byPolicy.set(key, endpoint);
    return endpoint;
  }

  #create(webhook: WebhookConfig): Endpoint {
    const breaker = new Breaker(this.#deps.clock, this.#limits);
    const keys = this.#derive(webhook);
    // Checked again although it was checked when stored: rules of the platform may have become stricter since.
    const problem = checkWebhookUrl(webhook.url, this.#deps);
    if (problem !== undefined) {
      return { fault: formatProblem(problem), origin: '', host: '', keys, breaker };
    }
    const { origin, host } = new URL(webhook.url);
    return { fault: undefined, origin, host, keys, breaker };
  }

  /** The master keys may have changed since; the state of the host stays. */
  #withPresentKeys(key: string, endpoint: Endpoint, webhook: WebhookConfig): Endpoint {
    const { masterKeys } = this.#deps;
    const { master, formerMaster } = endpoint.keys;
    if (master === masterKeys.webhook && formerMaster === masterKeys.webhookPrevious) return endpoint;
    const next = { ...endpoint, keys: this.#derive(webhook) };
    this.#byPolicy.set(key, next);
    return next;
  }

  #derive({ policyId, keyGeneration = 1 }: WebhookConfig): SigningKeys {
    const { webhook: master, webhookPrevious: formerMaster } = this.#deps.masterKeys;
    const isFirst = keyGeneration === 1;
    return {
      master,
      formerMaster,
      present: deriveWebhookKey(master, policyId, keyGeneration),
      former: isFirst ? undefined : deriveWebhookKey(master, policyId, keyGeneration - 1),
      ofFormerMaster: formerMaster && deriveWebhookKey(formerMaster, policyId, keyGeneration),
    };
  }
}

/** While two keys overlap, a host that knows only the former key finds its signature in the usual header. */
export function chooseKeys(
  { keys: { present, former, ofFormerMaster } }: Endpoint,
  { previousKeyUntil }: WebhookConfig,
  now: EpochMs,
): { readonly signingKey: string; readonly nextKey?: string } {
  const overlaps = previousKeyUntil !== undefined && now < previousKeyUntil;
  // Two headers carry two keys. When both keys are being rotated, the owner has to take care of a host that has taken
  // neither.
  const before = ofFormerMaster ?? (overlaps ? former : undefined);
  return before === undefined ? { signingKey: present } : { signingKey: before, nextKey: present };
}

/** The keys of a policy, and the master keys that they are derived from. */
type SigningKeys = {
  readonly master: Uint8Array;
  readonly formerMaster: Uint8Array | undefined;
  readonly present: string;
  /** The key of the generation before. */
  readonly former: string | undefined;
  readonly ofFormerMaster: string | undefined;
};

/** A webhook URL that was judged, with the state of its host. */
export type Endpoint = {
  /** Why the host is never called. */
  readonly fault: string | undefined;
  readonly origin: string;
  /** Host and port, for messages: path and query can carry the customer's secrets. */
  readonly host: string;
  readonly keys: SigningKeys;
  readonly breaker: Breaker;
};

export type BreakerLimits = {
  /** Unanswered calls in a row after which the host is not called. */
  readonly failures: number;
  readonly openMs: number;
};

/**
 * Stops calling a host that does not answer, so that its users get their refusal at once and our sockets stay free. The
 * breaker opens after `failures` in a row, for `openMs`; then one trial call is let through, and its result decides.
 *
 * Only the absence of an answer counts as failure: the data of one user can provoke an HTTP 500 or a malformed body,
 * and must not shut the webhook for all others.
 */
class Breaker {
  readonly #clock: Clock;
  readonly #limits: BreakerLimits;
  #failed = 0;
  #openUntil = 0;
  #isProbing = false;

  constructor(clock: Clock, limits: BreakerLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** True when a call may be made now; each true must be followed by one `record`. */
  tryEnter(): boolean {
    if (this.#failed < this.#limits.failures) return true;
    if (this.#isProbing || this.#clock.now() < this.#openUntil) return false;
    this.#isProbing = true;
    return true;
  }

  /** `undefined` when the host was not called after all. */
  record(didAnswer: boolean | undefined): void {
    this.#isProbing = false;
    if (didAnswer === undefined) return;
    if (didAnswer) {
      this.#failed = 0;
      return;
    }
    this.#failed += 1;
    if (this.#failed >= this.#limits.failures) this.#openUntil = this.#clock.now() + this.#limits.openMs;
  }

  get isOpen(): boolean {
    return this.#failed >= this.#limits.failures;
  }
}
