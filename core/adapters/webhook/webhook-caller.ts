import { setMaxListeners } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { deriveWebhookKey } from '../../config/api-key.js';
import type { WebhookConfig } from '../../config/paymaster-config.js';
import { formatProblem } from '../../errors.js';
import type { Logger } from '../../log.js';
import type { Metrics } from '../../metrics.js';
import { createAddressGuard } from '../../policy/webhook/public-address.js';
import { failed, readAnswer } from '../../policy/webhook/webhook-answer.js';
import type { WebhookCaller, WebhookOutcome, WebhookRequest } from '../../policy/webhook/webhook-caller.js';
import { renderWebhook } from '../../policy/webhook/webhook-request.js';
import { judgeWebhookUrl, type WebhookUrlRules } from '../../policy/webhook/webhook-url.js';
import { toSeconds, type Clock } from '../../units/time.js';
import { Breaker } from './breaker.js';
import { codeOf, isConnectionError } from './network-errors.js';
import { createGuardedConnector, createResolver, type ResolveHost } from './ssrf-guard.js';
import { WebhookHosts, type HostLimits } from './webhook-hosts.js';

export type WebhookCallerDeps = WebhookUrlRules & {
  /** Master key that the signing key of each policy is derived from. */
  readonly webhookMasterKey: Uint8Array;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Default: the DNS servers of the machine. */
  readonly resolve?: ResolveHost;
  /** PEM certificates to trust instead of the built-in ones. */
  readonly ca?: string;
  /** Time for all webhooks of a request, retries included. Default 3000 ms. */
  readonly budgetMs?: number;
  readonly limits?: Partial<CallLimits>;
};

export type CallLimits = HostLimits & {
  /** Unanswered calls in a row after which a policy's host is not called for `openMs`. */
  readonly failures: number;
  readonly openMs: number;
};

const defaultLimits: CallLimits = {
  connections: 64,
  inFlight: 256,
  origins: 1024,
  bodyBytes: 64 * 1024,
  failures: 10,
  openMs: 5000,
};
const defaultBudgetMs = 3000;
const retryDelayMs = 50;
const maxPolicies = 10_000;

/** Calls webhook hosts as {@link WebhookCaller} promises, guarded as `ssrf-guard.ts` and `webhook-hosts.ts` say. */
export function createWebhookCaller(deps: WebhookCallerDeps): WebhookCaller {
  return new UndiciWebhookCaller(deps);
}

class UndiciWebhookCaller implements WebhookCaller {
  readonly #deps: WebhookCallerDeps;
  readonly #limits: CallLimits;
  readonly #budgetMs: number;
  readonly #hosts: WebhookHosts;
  readonly #instruments: ReturnType<typeof createInstruments>;
  readonly #stopResolver: () => void;
  readonly #endpoints = new Map<string, Endpoint>();
  readonly #underWay = new Set<Promise<unknown>>();
  #stopped: Promise<void> | undefined;

  constructor(deps: WebhookCallerDeps) {
    const resolver = createResolver();
    this.#deps = deps;
    this.#limits = { ...defaultLimits, ...deps.limits };
    this.#budgetMs = deps.budgetMs ?? defaultBudgetMs;
    this.#instruments = createInstruments(deps.metrics);
    this.#stopResolver = () => resolver.stop();
    const connect = createGuardedConnector({
      guard: createAddressGuard(deps),
      resolve: deps.resolve ?? resolver.resolve,
      connectTimeoutMs: this.#budgetMs,
      ...(deps.ca === undefined ? {} : { ca: deps.ca }),
    });
    this.#hosts = new WebhookHosts(connect, this.#limits);
  }

  async call(request: WebhookRequest): Promise<readonly WebhookOutcome[]> {
    if (request.webhooks.length === 0) return [];
    const calls = this.#callAll(request);
    this.#underWay.add(calls);
    try {
      return await calls;
    } finally {
      this.#underWay.delete(calls);
    }
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#drain();
    return this.#stopped;
  }

  async #drain(): Promise<void> {
    await Promise.allSettled(this.#underWay);
    this.#stopResolver();
    await this.#hosts.stop();
  }

  async #callAll(request: WebhookRequest): Promise<readonly WebhookOutcome[]> {
    const controller = new AbortController();
    // One listener per webhook and attempt; the default warning is about leaks.
    setMaxListeners(0, controller.signal);
    const timer = setTimeout(() => controller.abort(), this.#budgetMs);
    try {
      return await Promise.all(
        request.webhooks.map((webhook) => this.#callOne(webhook, request, controller.signal)),
      );
    } finally {
      clearTimeout(timer);
    }
  }

  async #callOne(
    webhook: WebhookConfig,
    request: WebhookRequest,
    signal: AbortSignal,
  ): Promise<WebhookOutcome> {
    const startedAt = performance.now();
    const endpoint = this.#endpoint(webhook);
    const outcome = await this.#guarded(endpoint, webhook, request, signal);
    this.#instruments.calls.with({ outcome: outcome.verdict }).inc();
    this.#instruments.duration.with({}).observe((performance.now() - startedAt) / 1000);
    if (outcome.verdict === 'failed') {
      const { policyId } = webhook;
      this.#deps.log.debug('webhook failed', { policyId, requestId: request.requestId, ...outcome });
    }
    return outcome;
  }

  async #guarded(
    endpoint: Endpoint,
    webhook: WebhookConfig,
    request: WebhookRequest,
    signal: AbortSignal,
  ): Promise<WebhookOutcome> {
    if (endpoint.fault !== undefined) return failed(endpoint.fault);
    if (this.#stopped !== undefined) return failed('was not called, the service is stopping');
    if (!endpoint.breaker.tryEnter()) {
      return failed(`${endpoint.host} was not called, it did not answer lately; it is tried again shortly`);
    }
    const wasOpen = endpoint.breaker.isOpen;
    const { outcome, didAnswer } = await this.#attempts(endpoint, webhook, request, signal);
    endpoint.breaker.record(didAnswer);
    if (endpoint.breaker.isOpen !== wasOpen) {
      const { policyId } = webhook;
      const fields = { policyId, host: endpoint.host, outcome };
      if (wasOpen) this.#deps.log.info('webhook host answers again', fields);
      else this.#deps.log.warn('webhook host does not answer and is not called for a while', fields);
    }
    return outcome;
  }

  async #attempts(
    endpoint: Endpoint,
    webhook: WebhookConfig,
    request: WebhookRequest,
    signal: AbortSignal,
  ): Promise<Attempt> {
    const rendered = renderWebhook({
      webhook,
      data: request.data ?? {},
      userOp: request.userOp,
      requestId: request.requestId,
      signingKey: endpoint.signingKey,
      now: toSeconds(this.#deps.clock.now()),
    });
    if (rendered.path.length > maxTargetLength) {
      const size = rendered.path.length;
      const detail = `was not called, the webhook data make a query of ${size} characters, at most ${maxTargetLength} fit`;
      // No failure: whoever sends the operation chose the data, and would get past a policy with `onError: Allow`.
      return notAsked({ verdict: 'refused', detail });
    }

    const attempt = async (): Promise<Attempt> => {
      try {
        const { status, body } = await this.#hosts.send(endpoint.origin, rendered, signal);
        const outcome = readAnswer(status, body);
        return { outcome: named(endpoint, outcome), didAnswer: true, isRetryable: status >= 500 };
      } catch (error) {
        return this.#readError(endpoint, error, signal);
      }
    };
    const first = await attempt();
    if (!first.isRetryable) return first;
    try {
      await pause(retryDelayMs, undefined, { signal });
    } catch {
      return first;
    }
    this.#instruments.retries.with({}).inc();
    return attempt();
  }

  #readError(endpoint: Endpoint, error: unknown, signal: AbortSignal): Attempt {
    const { host } = endpoint;
    if (signal.aborted) {
      const outcome = failed(`${host} did not answer within ${this.#budgetMs} ms`);
      return { outcome, didAnswer: false, isRetryable: false };
    }
    const code = codeOf(error);
    switch (code) {
      case 'ADDRESS_REFUSED':
        return notAsked(failed(`${host} was not called, it has an address that may not be called`));
      case 'HOST_BUSY':
        return notAsked(failed(`${host} was not called, too many calls to it are under way`));
      case 'BODY_TOO_LARGE': {
        const outcome = failed(`${host} answered a body of more than ${this.#limits.bodyBytes} bytes`);
        return { outcome, didAnswer: true, isRetryable: false };
      }
      default: {
        const outcome = failed(`${host} could not be asked (${code})`);
        return { outcome, didAnswer: false, isRetryable: isConnectionError(code) };
      }
    }
  }

  #endpoint(webhook: WebhookConfig): Endpoint {
    const key = `${webhook.policyId} ${webhook.url}`;
    const known = this.#endpoints.get(key);
    if (known !== undefined) return known;

    // Bounded by forgetting all: breakers start afresh, which costs a few calls in a fleet of ten thousand webhooks.
    if (this.#endpoints.size >= maxPolicies) this.#endpoints.clear();
    const endpoint = this.#createEndpoint(webhook);
    this.#endpoints.set(key, endpoint);
    return endpoint;
  }

  #createEndpoint(webhook: WebhookConfig): Endpoint {
    const breaker = new Breaker(this.#deps.clock, this.#limits);
    const signingKey = deriveWebhookKey(this.#deps.webhookMasterKey, webhook.policyId);
    // Judged again although it was judged when stored: rules of the platform may have become stricter since.
    const problem = judgeWebhookUrl(webhook.url, this.#deps);
    if (problem !== undefined) {
      return { fault: formatProblem(problem), origin: '', host: '', signingKey, breaker };
    }
    const { origin, host } = new URL(webhook.url);
    return { fault: undefined, origin, host, signingKey, breaker };
  }
}

type Endpoint = {
  /** Why it is never called. */
  readonly fault: string | undefined;
  readonly origin: string;
  /** Host and port, for messages: path and query can carry the customer's secrets. */
  readonly host: string;
  readonly signingKey: string;
  readonly breaker: Breaker;
};

type Attempt = {
  readonly outcome: WebhookOutcome;
  /** For the breaker: was the host there at all? Undefined when it was not asked. */
  readonly didAnswer: boolean | undefined;
  readonly isRetryable: boolean;
};

/** Longest request target (path and query) of a GET; hosts and proxies commonly refuse longer ones. */
const maxTargetLength = 8192;

function notAsked(outcome: WebhookOutcome): Attempt {
  return { outcome, didAnswer: undefined, isRetryable: false };
}

function named(endpoint: Endpoint, outcome: WebhookOutcome): WebhookOutcome {
  return outcome.verdict === 'failed' ? failed(`${endpoint.host} ${outcome.detail}`) : outcome;
}

function createInstruments(metrics: Metrics) {
  return {
    calls: metrics.counter<'outcome'>({
      name: 'paymaster_webhook_calls_total',
      help: 'Webhook calls by outcome: verified, refused or failed.',
      labels: ['outcome'],
    }),
    retries: metrics.counter({
      name: 'paymaster_webhook_retries_total',
      help: 'Second attempts after a connection error or an HTTP 5xx.',
    }),
    duration: metrics.histogram({
      name: 'paymaster_webhook_duration_seconds',
      help: 'Time of one webhook call, its retry included.',
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5],
    }),
  };
}
