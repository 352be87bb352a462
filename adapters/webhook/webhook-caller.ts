import { setMaxListeners } from 'node:events';
import { pause } from '../pause.js';
import { deriveWebhookKey } from '../../core/policy/webhook/signing-key.js';
import type { WebhookConfig } from '../../core/policy/webhook/spec.js';
import { DomainError, formatProblem } from '../../core/errors.js';
import type { Logger } from '../../core/log.js';
import type { Metrics } from '../../core/metrics.js';
import type { WebhookMasterKeys } from '../../core/secrets.js';
import { createAddressGuard } from '../../core/policy/webhook/public-address.js';
import { blocked, failed, readAnswer } from '../../core/policy/webhook/webhook-answer.js';
import type {
  WebhookCaller,
  WebhookOutcome,
  WebhookRequest,
} from '../../core/policy/webhook/webhook-caller.js';
import {
  encodeBody,
  renderWebhook,
  type RenderedWebhook,
} from '../../core/policy/webhook/webhook-request.js';
import { judgeWebhookUrl, type WebhookUrlRules } from '../../core/policy/webhook/webhook-url.js';
import { toSeconds, type Clock, type EpochMs } from '../../core/units/time.js';
import { SlotsBusy } from '../fair-slots.js';
import { Breaker } from './breaker.js';
import { codeOf, isConnectionError } from './network-errors.js';
import { createGuardedConnector, createResolver, type ResolveHost } from './ssrf-guard.js';
import { OwnStalls, startBudget, type Abandoned, type Stalls } from './own-stalls.js';
import {
  WebhookHosts,
  type HostAnswer,
  type HostCaller,
  type HostLimits,
  type SendToHost,
} from './webhook-hosts.js';

export type WebhookCallerDeps = WebhookUrlRules & {
  /** Master keys from which the signing key of each policy is derived; read for each call. */
  readonly masterKeys: WebhookMasterKeys;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Default: the DNS servers of the machine. */
  readonly resolve?: ResolveHost;
  /** PEM certificates to trust instead of the built-in ones. */
  readonly ca?: string;
  /**
   * Time for each webhook of a request from its turn on, including its retry, when its policy sets none. Default 3000
   * ms.
   */
  readonly budgetMs?: number;
  readonly limits?: Partial<CallLimits>;
  /** Default: measured in this process. */
  readonly stalls?: Stalls;
};

export type CallLimits = HostLimits & {
  /** Requests of one paymaster with running or waiting webhook calls; further ones are turned away. */
  readonly requests: number;
  /** Unanswered calls in a row after which a policy's host is not called for `openMs`. */
  readonly failures: number;
  readonly openMs: number;
};

const defaultLimits: CallLimits = {
  requests: 256,
  connections: 320,
  // A fifth: the most that one paymaster can take of a host that it shares with others, or names to harm them.
  perPaymaster: 64,
  sockets: 2_000,
  perOrganisation: 400,
  maxWaitMs: 3000,
  origins: 1024,
  bodyBytes: 64 * 1024,
  failures: 10,
  openMs: 5000,
};
const defaultBudgetMs = 3000;
const retryDelayMs = 50;
const maxPolicies = 10_000;

/**
 * Calls webhook hosts as {@link WebhookCaller} promises, guarded as `ssrf-guard.ts` and `webhook-hosts.ts` describe.
 */
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
  /** Number of requests by paymaster. */
  readonly #requests = new Map<string, number>();
  readonly #stalls: Stalls;
  #stopped: Promise<void> | undefined;

  constructor(deps: WebhookCallerDeps) {
    const resolver = createResolver();
    this.#deps = deps;
    this.#limits = { ...defaultLimits, ...deps.limits };
    this.#budgetMs = deps.budgetMs ?? defaultBudgetMs;
    this.#stalls = deps.stalls ?? new OwnStalls();
    this.#instruments = createInstruments(deps.metrics);
    this.#stopResolver = () => resolver.stop();
    const connect = createGuardedConnector({
      guard: createAddressGuard(deps),
      resolve: deps.resolve ?? resolver.resolve,
      connectTimeoutMs: this.#budgetMs,
      ...(deps.privateHosts === undefined ? {} : { privateHosts: deps.privateHosts }),
      ...(deps.ca === undefined ? {} : { ca: deps.ca }),
    });
    this.#hosts = new WebhookHosts(connect, this.#limits);
  }

  async call(request: WebhookRequest): Promise<readonly WebhookOutcome[]> {
    const { webhooks, paymasterId } = request;
    if (webhooks.length === 0) return [];
    if (this.#stopped !== undefined) throw busy('the service is stopping');
    const others = this.#requests.get(paymasterId) ?? 0;
    if (others >= this.#limits.requests) {
      this.#instruments.calls.with({ outcome: 'busy' }).inc(webhooks.length);
      throw busy(`${others} requests of this paymaster wait for webhooks already`);
    }
    this.#requests.set(paymasterId, others + 1);
    const calls = this.#callAll(request);
    this.#underWay.add(calls);
    try {
      return await calls;
    } finally {
      this.#underWay.delete(calls);
      this.#leave(paymasterId);
    }
  }

  #leave(paymasterId: string): void {
    const left = (this.#requests.get(paymasterId) ?? 1) - 1;
    if (left > 0) this.#requests.set(paymasterId, left);
    else this.#requests.delete(paymasterId);
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
    const { data = {}, userOp, paymasterId, organisation, requestId, isTest = false } = request;
    let encoded: Uint8Array | undefined;
    const body = () => (encoded ??= encodeBody(data, userOp));
    const round: Round = { data, body, paymasterId, organisation, requestId, isTest };
    const outcomes = await Promise.all(request.webhooks.map((webhook) => this.#callOne(webhook, round)));
    // Even with a clear answer of another host: the request can only be decided when all hosts have been called.
    const ours = outcomes.find((outcome) => outcome.verdict === 'busy');
    if (ours !== undefined) throw busy(ours.detail);
    return outcomes.filter((outcome) => outcome.verdict !== 'busy');
  }

  async #callOne(webhook: WebhookConfig, round: Round): Promise<Outcome> {
    const endpoint = this.#endpoint(webhook);
    const startedAt = performance.now();
    const outcome = await this.#guarded(endpoint, webhook, round);
    this.#instruments.calls.with({ outcome: outcome.verdict }).inc();
    this.#instruments.duration.with({}).observe((performance.now() - startedAt) / 1000);
    if (outcome.verdict === 'failed' || outcome.verdict === 'blocked') {
      const { policyId } = webhook;
      this.#deps.log.debug('webhook failed', { policyId, requestId: round.requestId, ...outcome });
    }
    return outcome;
  }

  async #guarded(endpoint: Endpoint, webhook: WebhookConfig, round: Round): Promise<Outcome> {
    if (endpoint.fault !== undefined) return blocked(endpoint.fault);
    try {
      return await this.#hosts.inTurn(endpoint.origin, round, (send) =>
        this.#unlessOpen(endpoint, webhook, round, send),
      );
    } catch (error) {
      if (!(error instanceof SlotsBusy)) throw error;
      return busyOutcome(`too many calls to ${endpoint.host}, or of this organisation, wait`);
    }
  }

  async #unlessOpen(
    endpoint: Endpoint,
    webhook: WebhookConfig,
    round: Round,
    send: SendToHost,
  ): Promise<Outcome> {
    if (!endpoint.breaker.tryEnter()) {
      return failed(`${endpoint.host} was not called, it did not answer lately; it is tried again shortly`);
    }
    const wasOpen = endpoint.breaker.isOpen;
    const { outcome, didAnswer } = await this.#withinBudget(endpoint, webhook, round, send);
    endpoint.breaker.record(didAnswer);
    if (endpoint.breaker.isOpen !== wasOpen) {
      const { policyId } = webhook;
      const fields = { policyId, host: endpoint.host, outcome };
      if (wasOpen) this.#deps.log.info('webhook host answers again', fields);
      else this.#deps.log.warn('webhook host does not answer, pausing calls to it', fields);
    }
    return outcome;
  }

  async #withinBudget(
    endpoint: Endpoint,
    webhook: WebhookConfig,
    round: Round,
    send: SendToHost,
  ): Promise<Attempt> {
    const controller = new AbortController();
    // One listener per attempt and wait; the default warning is about leaks.
    setMaxListeners(0, controller.signal);
    const end = startBudget(this.#stalls, this.#timeOf(webhook), (why) => controller.abort(why));
    try {
      return await this.#attempts(
        endpoint,
        webhook,
        round,
        (request) => send(request, controller.signal),
        controller.signal,
      );
    } finally {
      end();
    }
  }

  #timeOf({ timeoutMs }: WebhookConfig): number {
    return timeoutMs ?? this.#budgetMs;
  }

  async #attempts(
    endpoint: Endpoint,
    webhook: WebhookConfig,
    { data, body, requestId, isTest }: Round,
    send: (request: RenderedWebhook) => Promise<HostAnswer>,
    signal: AbortSignal,
  ): Promise<Attempt> {
    const now = this.#deps.clock.now();
    const rendered = renderWebhook({
      webhook,
      data,
      body,
      requestId,
      isTest,
      ...keysOf(endpoint, webhook, now),
      now: toSeconds(now),
    });
    if (rendered.path.length > maxTargetLength) {
      const size = rendered.path.length;
      const detail = `was not called, the webhook data make a query of ${size} characters, at most ${maxTargetLength} fit`;
      // Not a failure: the sender of the operation chose the data, and would get past a policy with `onError: Allow`.
      return notAsked({ verdict: 'refused', detail });
    }

    const attempt = async (): Promise<Attempt> => {
      try {
        const answer = await send(rendered);
        const { status } = answer;
        const outcome = readAnswer(status, answer.body);
        return { outcome: named(endpoint, outcome), didAnswer: true, isRetryable: status >= 500 };
      } catch (error) {
        return this.#readError(endpoint, webhook, error, signal);
      }
    };
    const first = await attempt();
    if (!first.isRetryable) return first;
    await pause(retryDelayMs, signal);
    if (signal.aborted) return first;
    this.#instruments.retries.with({}).inc();
    return attempt();
  }

  #readError(endpoint: Endpoint, webhook: WebhookConfig, error: unknown, signal: AbortSignal): Attempt {
    const { host } = endpoint;
    if (signal.aborted) {
      const why: Abandoned = signal.reason;
      if (why === 'we-stalled') return notAsked(busyOutcome(`no time to read what ${host} answers`));
      const outcome = failed(`${host} did not answer within ${this.#timeOf(webhook)} ms`);
      return { outcome, didAnswer: false, isRetryable: false };
    }
    const code = codeOf(error);
    switch (code) {
      case 'ADDRESS_REFUSED':
        return notAsked(blocked(`${host} was not called, it has an address that may not be called`));
      case 'BODY_TOO_LARGE': {
        // An answer may repeat what was sent, and the caller decides how much that is.
        const outcome = blocked(`${host} answered a body of more than ${this.#limits.bodyBytes} bytes`);
        return { outcome, didAnswer: true, isRetryable: false };
      }
      default: {
        const outcome = failed(`${host} could not be asked (${code})`);
        return { outcome, didAnswer: false, isRetryable: isConnectionError(code) };
      }
    }
  }

  #endpoint(webhook: WebhookConfig): Endpoint {
    const key = `${webhook.policyId} ${webhook.keyGeneration ?? 1} ${webhook.url}`;
    const known = this.#endpoints.get(key);
    if (known !== undefined) return this.#withPresentKeys(key, known, webhook);

    // Bounded by forgetting all: the breakers start again, which costs a few calls in a fleet of ten thousand webhooks.
    if (this.#endpoints.size >= maxPolicies) this.#endpoints.clear();
    const endpoint = this.#createEndpoint(webhook);
    this.#endpoints.set(key, endpoint);
    return endpoint;
  }

  #createEndpoint(webhook: WebhookConfig): Endpoint {
    const breaker = new Breaker(this.#deps.clock, this.#limits);
    const keys = this.#derive(webhook);
    // Checked again although it was checked when stored: rules of the platform may have become stricter since.
    const problem = judgeWebhookUrl(webhook.url, this.#deps);
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
    this.#endpoints.set(key, next);
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
function keysOf(
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

type Endpoint = {
  /** Why the host is never called. */
  readonly fault: string | undefined;
  readonly origin: string;
  /** Host and port, for messages: path and query can carry the customer's secrets. */
  readonly host: string;
  readonly keys: SigningKeys;
  readonly breaker: Breaker;
};

/** Common to all webhooks of one request. */
type Round = HostCaller & {
  readonly data: unknown;
  readonly body: () => Uint8Array;
  readonly requestId: string;
  readonly isTest: boolean;
};

/** `busy`: we could not call the host. */
type Outcome = WebhookOutcome | { readonly verdict: 'busy'; readonly detail: string };

type Attempt = {
  readonly outcome: Outcome;
  /** For the breaker: did the host answer at all? Undefined when it was not called. */
  readonly didAnswer: boolean | undefined;
  readonly isRetryable: boolean;
};

/** Longest request target (path and query) of a GET; hosts and proxies commonly refuse longer ones. */
const maxTargetLength = 8192;

function busyOutcome(detail: string): Outcome {
  return { verdict: 'busy', detail };
}

function busy(detail: string): DomainError {
  return new DomainError('UNAVAILABLE', `Webhooks could not be asked: ${detail}.`, {
    reason: 'WEBHOOK_BUSY',
    retryAfterSeconds: 1,
  });
}

function notAsked(outcome: Outcome): Attempt {
  return { outcome, didAnswer: undefined, isRetryable: false };
}

function named(endpoint: Endpoint, outcome: WebhookOutcome): WebhookOutcome {
  return outcome.verdict === 'failed' ? failed(`${endpoint.host} ${outcome.detail}`) : outcome;
}

function createInstruments(metrics: Metrics) {
  return {
    calls: metrics.counter<'outcome'>({
      name: 'paymaster_webhook_calls_total',
      help: 'Webhook calls by outcome: verified, refused, failed, blocked by our own rules, or busy (not asked in time by us).',
      labels: ['outcome'],
    }),
    retries: metrics.counter({
      name: 'paymaster_webhook_retries_total',
      help: 'Second attempts after a connection error or an HTTP 5xx.',
    }),
    duration: metrics.histogram({
      name: 'paymaster_webhook_duration_seconds',
      help: 'Time of one webhook call, its retry included.',
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5, 10],
    }),
  };
}
