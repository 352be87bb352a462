import { setMaxListeners } from 'node:events';
import { pause } from '../timers.js';
import type { WebhookConfig } from '../../core/policy/webhook/schema.js';
import { DomainError } from '../../core/errors.js';
import type { Logger } from '../../core/log.js';
import type { Metrics } from '../../core/metrics.js';
import type { WebhookMasterKeys } from '../../core/secrets.js';
import { createAddressGuard } from '../../core/policy/webhook/public-address.js';
import { blocked, failed, readAnswer } from '../../core/policy/webhook/webhook-answer.js';
import type { PolicyHosts, HostOutcome, HostRequest } from '../../core/policy/policy-hosts.js';
import { encodeBody, renderWebhook } from '../../core/policy/webhook/webhook-request.js';
import type { WebhookUrlRules } from '../../core/policy/webhook/webhook-url.js';
import { toSeconds, type Clock } from '../../core/units/time.js';
import { SlotsBusy } from '../fair-slots.js';
import { chooseKeys, WebhookEndpoints, type BreakerLimits, type Endpoint } from './webhook-endpoints.js';
import { networkErrorCode, isConnectionError } from './network-errors.js';
import { createGuardedConnector, createResolver, type ResolveHost } from './ssrf-guard.js';
import { OwnStalls, startBudget, type Abandoned, type Stalls } from './own-stalls.js';
import { createWebhookInstruments, type WebhookInstruments } from './webhook-instruments.js';
import { WebhookHosts, type HostCaller, type HostLimits, type SendToHost } from './webhook-hosts.js';

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

type CallLimits = HostLimits &
  BreakerLimits & {
    /** Requests of one paymaster with running or waiting webhook calls; further ones are turned away. */
    readonly requests: number;
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

/**
 * Calls webhook hosts as {@link PolicyHosts} promises, guarded as `ssrf-guard.ts` and `webhook-hosts.ts` describe.
 */
export function createWebhookCaller(deps: WebhookCallerDeps): PolicyHosts {
  return new UndiciWebhookCaller(deps);
}

class UndiciWebhookCaller implements PolicyHosts {
  readonly #deps: WebhookCallerDeps;
  readonly #limits: CallLimits;
  readonly #budgetMs: number;
  readonly #enforced: CallPool;
  readonly #shadow: CallPool;
  readonly #instruments: WebhookInstruments;
  readonly #stopResolver: () => void;
  readonly #endpoints: WebhookEndpoints;
  readonly #running = new Set<Promise<unknown>>();
  readonly #stalls: Stalls;
  #stopped: Promise<void> | undefined;

  constructor(deps: WebhookCallerDeps) {
    const resolver = createResolver();
    this.#deps = deps;
    this.#limits = { ...defaultLimits, ...deps.limits };
    this.#budgetMs = deps.budgetMs ?? defaultBudgetMs;
    this.#stalls = deps.stalls ?? new OwnStalls();
    this.#instruments = createWebhookInstruments(deps.metrics);
    this.#stopResolver = () => resolver.stop();
    const connect = createGuardedConnector({
      guard: createAddressGuard(deps),
      resolve: deps.resolve ?? resolver.resolve,
      connectTimeoutMs: this.#budgetMs,
      ...(deps.privateHosts === undefined ? {} : { privateHosts: deps.privateHosts }),
      ...(deps.ca === undefined ? {} : { ca: deps.ca }),
    });
    this.#enforced = new CallPool(connect, this.#limits);
    this.#shadow = new CallPool(connect, shadowShare(this.#limits));
    this.#endpoints = new WebhookEndpoints(deps, this.#limits);
  }

  async call(request: HostRequest): Promise<readonly HostOutcome[]> {
    const { policies, paymasterId } = request;
    if (policies.length === 0) return [];
    if (this.#stopped !== undefined) throw busy('the service is stopping');
    const pool = request.isShadow === true ? this.#shadow : this.#enforced;
    if (!pool.enter(paymasterId)) {
      this.#instruments.calls.with({ outcome: 'busy' }).inc(policies.length);
      throw busy('too many requests of this paymaster wait for webhooks already');
    }
    const calls = this.#callAll(request, pool.hosts);
    this.#running.add(calls);
    try {
      return await calls;
    } finally {
      this.#running.delete(calls);
      pool.leave(paymasterId);
    }
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#drain();
    return this.#stopped;
  }

  async #drain(): Promise<void> {
    await Promise.allSettled(this.#running);
    this.#stopResolver();
    await Promise.all([this.#enforced.hosts.stop(), this.#shadow.hosts.stop()]);
  }

  async #callAll(request: HostRequest, hosts: WebhookHosts): Promise<readonly HostOutcome[]> {
    const { data = {}, userOp, paymasterId, organisation, requestId, isTest = false } = request;
    let encoded: Uint8Array | undefined;
    const body = () => (encoded ??= encodeBody(data, userOp));
    const round: Round = { data, body, paymasterId, organisation, requestId, isTest, hosts };
    const outcomes = await Promise.all(request.policies.map((webhook) => this.#callOne(webhook, round)));
    // Even with a clear answer of another host: the request can only be decided when all hosts have been called.
    const ours = outcomes.find((outcome) => outcome.verdict === 'busy');
    if (ours !== undefined) throw busy(ours.detail);
    return outcomes.filter((outcome) => outcome.verdict !== 'busy');
  }

  async #callOne(webhook: WebhookConfig, round: Round): Promise<Outcome> {
    const endpoint = this.#endpoints.of(webhook);
    const startedAt = performance.now();
    const outcome = await this.#guarded({ ...round, endpoint, webhook });
    this.#instruments.calls.with({ outcome: outcome.verdict }).inc();
    this.#instruments.duration.with({}).observe((performance.now() - startedAt) / 1000);
    if (outcome.verdict === 'failed' || outcome.verdict === 'blocked') {
      const { policyId } = webhook;
      this.#deps.log.debug('webhook failed', { policyId, requestId: round.requestId, ...outcome });
    }
    return outcome;
  }

  async #guarded(call: Call): Promise<Outcome> {
    const { endpoint } = call;
    if (endpoint.fault !== undefined) return blocked(endpoint.fault);
    try {
      return await call.hosts.inTurn(endpoint.origin, call, (send) => this.#unlessOpen(call, send));
    } catch (error) {
      if (!(error instanceof SlotsBusy)) throw error;
      return busyOutcome(`too many calls to ${endpoint.host}, or of this organisation, wait`);
    }
  }

  async #unlessOpen(call: Call, send: SendToHost): Promise<Outcome> {
    const { endpoint, webhook } = call;
    if (!endpoint.breaker.tryEnter()) {
      return failed(`${endpoint.host} was not called, it did not answer lately; it is tried again shortly`);
    }
    const wasOpen = endpoint.breaker.isOpen;
    const { outcome, didAnswer } = await this.#withinBudget(call, send);
    endpoint.breaker.record(didAnswer);
    if (endpoint.breaker.isOpen !== wasOpen) {
      const { policyId } = webhook;
      const fields = { policyId, host: endpoint.host, outcome };
      if (wasOpen) this.#deps.log.info('webhook host answers again', fields);
      else this.#deps.log.warn('webhook host does not answer, pausing calls to it', fields);
    }
    return outcome;
  }

  async #withinBudget(call: Call, send: SendToHost): Promise<Attempt> {
    const controller = new AbortController();
    // One listener per attempt and wait; the default warning is about leaks.
    setMaxListeners(0, controller.signal);
    const end = startBudget(this.#stalls, this.#timeOf(call.webhook), (why) => controller.abort(why));
    try {
      return await this.#attempts(call, send, controller.signal);
    } finally {
      end();
    }
  }

  #timeOf({ timeoutMs }: WebhookConfig): number {
    return timeoutMs ?? this.#budgetMs;
  }

  async #attempts(call: Call, send: SendToHost, signal: AbortSignal): Promise<Attempt> {
    const { endpoint, webhook } = call;
    const now = this.#deps.clock.now();
    const rendered = renderWebhook({ ...call, ...chooseKeys(endpoint, webhook, now), now: toSeconds(now) });
    if (rendered.path.length > maxTargetLength) {
      const size = rendered.path.length;
      const detail = `was not called, the webhook data make a query of ${size} characters, at most ${maxTargetLength} fit`;
      // Not a failure: the sender of the operation chose the data, and would get past a policy with `onError: Allow`.
      return notAsked({ verdict: 'refused', detail });
    }

    const attempt = async (): Promise<Attempt> => {
      try {
        const answer = await send(rendered, signal);
        const { status } = answer;
        const outcome = readAnswer(status, answer.body);
        return { outcome: named(endpoint, outcome), didAnswer: true, isRetryable: status >= 500 };
      } catch (error) {
        return this.#readError(call, error, signal);
      }
    };
    const first = await attempt();
    if (!first.isRetryable) return first;
    await pause(retryDelayMs, signal);
    if (signal.aborted) return first;
    this.#instruments.retries.with({}).inc();
    return attempt();
  }

  #readError({ endpoint, webhook }: Call, error: unknown, signal: AbortSignal): Attempt {
    const { host } = endpoint;
    if (signal.aborted) {
      const why: Abandoned = signal.reason;
      if (why === 'we-stalled') return notAsked(busyOutcome(`no time to read what ${host} answers`));
      const outcome = failed(`${host} did not answer within ${this.#timeOf(webhook)} ms`);
      return { outcome, didAnswer: false, isRetryable: false };
    }
    const code = networkErrorCode(error);
    switch (code) {
      case 'ADDRESS_REFUSED':
        return notAsked(blocked(`${host} was not called, its name has no address that may be called`));
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
}

/** Connections, and the requests that use them. */
class CallPool {
  readonly hosts: WebhookHosts;
  readonly #most: number;
  /** Number of requests by paymaster. */
  readonly #requests = new Map<string, number>();

  constructor(connect: ConstructorParameters<typeof WebhookHosts>[0], limits: CallLimits) {
    this.hosts = new WebhookHosts(connect, limits);
    this.#most = limits.requests;
  }

  /** False when as many requests of the paymaster as may are there already. */
  enter(paymasterId: string): boolean {
    const others = this.#requests.get(paymasterId) ?? 0;
    if (others >= this.#most) return false;
    this.#requests.set(paymasterId, others + 1);
    return true;
  }

  leave(paymasterId: string): void {
    const left = (this.#requests.get(paymasterId) ?? 1) - 1;
    if (left > 0) this.#requests.set(paymasterId, left);
    else this.#requests.delete(paymasterId);
  }
}

/** Nothing waits for a webhook in Shadow, so it gets little, and no turn later than now. */
function shadowShare(limits: CallLimits): CallLimits {
  const part = (count: number): number => Math.max(1, Math.floor(count / 16));
  return {
    ...limits,
    requests: part(limits.requests),
    connections: part(limits.connections),
    perPaymaster: part(limits.perPaymaster),
    sockets: part(limits.sockets),
    perOrganisation: part(limits.perOrganisation),
    maxWaitMs: 0,
  };
}

/** Common to all webhooks of one request. */
type Round = HostCaller & {
  readonly data: unknown;
  readonly body: () => Uint8Array;
  readonly requestId: string;
  readonly isTest: boolean;
  readonly hosts: WebhookHosts;
};

type Call = Round & { readonly endpoint: Endpoint; readonly webhook: WebhookConfig };

/** `busy`: we could not call the host. */
type Outcome = HostOutcome | { readonly verdict: 'busy'; readonly detail: string };

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

function named(endpoint: Endpoint, outcome: HostOutcome): HostOutcome {
  return outcome.verdict === 'failed' ? failed(`${endpoint.host} ${outcome.detail}`) : outcome;
}
