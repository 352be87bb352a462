import { Pool, type buildConnector } from 'undici';
import { FairSlots } from '../fair-slots.js';
import { withinDeadline } from '../within-deadline.js';
import type { WebhookRequest } from '../../core/policy/webhook/webhook-caller.js';
import type { RenderedWebhook } from '../../core/policy/webhook/webhook-request.js';

export type HostLimits = {
  /** Calls under way to one origin, each on a connection of its own; more wait. */
  readonly connections: number;
  /** Of them those of one paymaster: a host that many use must not be held by one of them. */
  readonly perPaymaster: number;
  /** Calls under way to all origins together, and of them those of one organisation. */
  readonly sockets: number;
  readonly perOrganisation: number;
  /** How long a call waits for its turn at most. */
  readonly maxWaitMs: number;
  /** Origins whose pools are kept; the least recently used idle ones are closed beyond that. */
  readonly origins: number;
  /** Bytes of an answer's body. */
  readonly bodyBytes: number;
};

export type HostCaller = Pick<WebhookRequest, 'paymasterId' | 'organisation'>;

/** Sends one request. Throws BodyTooLarge, or what the network reports; the abort reason when `signal` ends it. */
export type SendToHost = (request: RenderedWebhook, signal: AbortSignal) => Promise<HostAnswer>;

/** Status and body of an answer; `body` is empty unless the status is 200. */
export type HostAnswer = { readonly status: number; readonly body: string };

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

  /** Runs `calls` when it is the paymaster's turn at this origin. Throws SlotsBusy when that is not in time. */
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

  async #send(pool: Pool, request: RenderedWebhook, signal: AbortSignal): Promise<HostAnswer> {
    const { path, method, headers } = request;
    const asked = pool.request({ path, method, headers, body: request.body ?? null, signal });
    const { statusCode, body } = await withinDeadline(signal, asked);
    if (statusCode === 200) return { status: 200, body: await readBody(body, this.#limits.bodyBytes) };
    // Read to its end where it is short, so that the connection can be used again.
    await body.dump({ limit: this.#limits.bodyBytes, signal });
    return { status: statusCode, body: '' };
  }

  /** Lets calls under way finish, then closes every connection. */
  async stop(): Promise<void> {
    const pools = [...this.#hosts.values()].map(({ pool }) => pool);
    this.#hosts.clear();
    await Promise.all(pools.map((pool) => pool.close()));
  }

  #host(origin: string): Host {
    const known = this.#hosts.get(origin);
    if (known !== undefined) {
      // Map order is the order of use.
      this.#hosts.delete(origin);
      this.#hosts.set(origin, known);
      return known;
    }
    if (this.#hosts.size >= this.#limits.origins) this.#closeOldestIdle();
    // The deadline of each call is its signal; pool timeouts would only be a second, coarser one.
    // Slots bound its connections: a queue of the pool's own would count as the host's time.
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

class BodyTooLarge extends Error {
  readonly code = 'BODY_TOO_LARGE';
}

/** Waiting calls need no second bound: the requests of a paymaster are bounded, and so are the webhooks of a request. */
function fairSlots(slots: number, perKey: number, maxWaitMs: number): FairSlots {
  return new FairSlots({ slots, perKey, waitingPerKey: Number.POSITIVE_INFINITY, maxWaitMs });
}

type Host = { readonly pool: Pool; readonly slots: FairSlots; users: number };

async function readBody(body: AsyncIterable<Buffer>, limit: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    // Leaving the loop destroys the body and with it the connection.
    if (size > limit) throw new BodyTooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
