import { Pool, type buildConnector } from 'undici';
import { FairSlots } from '../fair-slots.js';
import { asItIs, readBody, type HttpAnswer } from '../http-exchange.js';
import { withinDeadline } from '../within-deadline.js';
import type { HostRequest } from '../../core/policy/policy-hosts.js';
import type { RenderedWebhook } from '../../core/policy/webhook/webhook-request.js';

export type HostLimits = {
  /** Running calls to one origin, each on a separate connection; further ones wait. */
  readonly connections: number;
  /** Of these, the calls of one paymaster: it must not occupy a host that many use. */
  readonly perPaymaster: number;
  /** Running calls to all origins together; `perOrganisation` bounds those of one organisation. */
  readonly sockets: number;
  readonly perOrganisation: number;
  /** How long a call waits for its turn at most. */
  readonly maxWaitMs: number;
  /** Origins whose pools are kept; the least recently used idle ones are closed beyond that. */
  readonly origins: number;
  /** Bytes of an answer's body. */
  readonly bodyBytes: number;
};

export type HostCaller = Pick<HostRequest, 'paymasterId' | 'organisation'>;

/** Sends one request; the answer's `body` is empty unless its status is 200. Throws BodyTooLarge or the error of the network; the abort reason when `signal` ends it. */
export type SendToHost = (request: RenderedWebhook, signal: AbortSignal) => Promise<HttpAnswer>;

/**
 * One keep-alive pool per origin with bounds on connections, calls and answers, so that one slow host costs the others
 * nothing. A call waits for its turn in our own queue, before its host's time begins to count. Plain HTTP/1.1 without
 * redirects, proxies or decompression.
 */
export class WebhookHosts {
  readonly #connect: buildConnector.connector;
  readonly #limits: HostLimits;
  readonly #hosts = new Map<string, Host>();
  readonly #sockets: FairSlots;

  constructor(connect: buildConnector.connector, limits: HostLimits) {
    this.#connect = connect;
    this.#limits = limits;
    this.#sockets = fairSlots(limits.sockets, limits.perOrganisation, limits.maxWaitMs);
  }

  /** Runs `calls` in the paymaster's turn at this origin. Throws SlotsBusy when the turn does not come in time. */
  async inTurn<T>(
    origin: string,
    { paymasterId, organisation }: HostCaller,
    calls: (send: SendToHost) => Promise<T>,
  ): Promise<T> {
    const host = this.#host(origin);
    host.users += 1;
    try {
      return await host.slots.run(paymasterId, () =>
        this.#sockets.run(organisation, () =>
          calls((request, signal) => this.#send(host.pool, request, signal)),
        ),
      );
    } finally {
      host.users -= 1;
    }
  }

  async #send(pool: Pool, request: RenderedWebhook, signal: AbortSignal): Promise<HttpAnswer> {
    const { path, method, headers } = request;
    const asked = pool.request({
      path,
      method,
      headers: { ...headers, ...asItIs },
      body: request.body ?? null,
      signal,
    });
    const { statusCode, headers: answered, body } = await withinDeadline(signal, asked);
    if (statusCode === 200)
      return { status: 200, body: await readBody(body, this.#limits.bodyBytes, answered) };
    // A short rest is read to its end, so that the connection can be used again.
    await body.dump({ limit: this.#limits.bodyBytes, signal });
    return { status: statusCode, body: '' };
  }

  /** Lets running calls finish, then closes every connection. */
  async stop(): Promise<void> {
    const pools = [...this.#hosts.values()].map(({ pool }) => pool);
    this.#hosts.clear();
    await Promise.all(pools.map((pool) => pool.close()));
  }

  #host(origin: string): Host {
    const known = this.#hosts.get(origin);
    if (known !== undefined) {
      // The order of the Map is the order of use.
      this.#hosts.delete(origin);
      this.#hosts.set(origin, known);
      return known;
    }
    if (this.#hosts.size >= this.#limits.origins) this.#closeOldestIdle();
    // The signal of each call is its deadline; timeouts of the pool would be a second, coarser one. The slots bound the
    // number of connections: time in the pool's queue would count as the host's time.
    const pool = new Pool(origin, { connect: this.#connect, headersTimeout: 0, bodyTimeout: 0 });
    const { connections, perPaymaster, maxWaitMs } = this.#limits;
    const slots = fairSlots(connections, perPaymaster, maxWaitMs);
    const host = { pool, slots, users: 0 };
    this.#hosts.set(origin, host);
    return host;
  }

  #closeOldestIdle(): void {
    for (const [origin, host] of this.#hosts) {
      if (host.users > 0) continue;
      this.#hosts.delete(origin);
      host.pool.close().catch(() => host.pool.destroy());
      return;
    }
  }
}

/**
 * Waiting calls need no second bound: the requests of a paymaster are bounded, and so are the webhooks of a request.
 */
function fairSlots(slots: number, perKey: number, maxWaitMs: number): FairSlots {
  return new FairSlots({ slots, perKey, waitingPerKey: Number.POSITIVE_INFINITY, maxWaitMs });
}

type Host = { readonly pool: Pool; readonly slots: FairSlots; users: number };
