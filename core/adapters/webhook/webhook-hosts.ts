import { Pool, type buildConnector } from 'undici';
import { withinDeadline } from '../within-deadline.js';
import type { RenderedWebhook } from '../../policy/webhook/webhook-request.js';

export type HostLimits = {
  /** Open connections to one origin. */
  readonly connections: number;
  /** Calls to one origin that may be under way or wait for a connection; more fail at once. */
  readonly inFlight: number;
  /** Origins whose pools are kept; the least recently used idle ones are closed beyond that. */
  readonly origins: number;
  /** Bytes of an answer's body. */
  readonly bodyBytes: number;
};

/** Status and body of an answer; `body` is empty unless the status is 200. */
export type HostAnswer = { readonly status: number; readonly body: string };

/**
 * One keep-alive pool per origin with bounds on connections, calls and answers, so that one slow host costs the others
 * nothing. Plain HTTP/1.1 without redirects, proxies or decompression.
 */
export class WebhookHosts {
  readonly #connect: buildConnector.connector;
  readonly #limits: HostLimits;
  readonly #hosts = new Map<string, Host>();

  constructor(connect: buildConnector.connector, limits: HostLimits) {
    this.#connect = connect;
    this.#limits = limits;
  }

  /** Throws HostBusy, BodyTooLarge, or what the network reports; the abort reason when `signal` ends it. */
  async send(origin: string, request: RenderedWebhook, signal: AbortSignal): Promise<HostAnswer> {
    const host = this.#host(origin);
    if (host.inFlight >= this.#limits.inFlight) throw new HostBusy();
    host.inFlight += 1;
    try {
      const { path, method, headers } = request;
      const asked = host.pool.request({
        path,
        method,
        headers,
        body: request.body ?? null,
        signal,
      });
      const { statusCode, body } = await withinDeadline(signal, asked);
      if (statusCode === 200) return { status: 200, body: await readBody(body, this.#limits.bodyBytes) };
      // Read to its end where it is short, so that the connection can be used again.
      await body.dump({ limit: this.#limits.bodyBytes, signal });
      return { status: statusCode, body: '' };
    } finally {
      host.inFlight -= 1;
    }
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
    const pool = new Pool(origin, {
      connect: this.#connect,
      connections: this.#limits.connections,
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    const host = { pool, inFlight: 0 };
    this.#hosts.set(origin, host);
    return host;
  }

  #closeOldestIdle(): void {
    for (const [origin, host] of this.#hosts) {
      if (host.inFlight > 0) continue;
      this.#hosts.delete(origin);
      host.pool.close().catch(() => host.pool.destroy());
      return;
    }
  }
}

class HostBusy extends Error {
  readonly code = 'HOST_BUSY';
}

class BodyTooLarge extends Error {
  readonly code = 'BODY_TOO_LARGE';
}

type Host = { readonly pool: Pool; inFlight: number };

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
