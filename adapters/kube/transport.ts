import { given } from '../../core/units/given.js';
import { createHash } from 'node:crypto';
import { Agent, DecoratorHandler, ProxyAgent, request, type Dispatcher } from 'undici';
import type { Ambient } from '../../core/ambient.js';
import { errorOfStatus, noAnswer, type KubeApiError } from './api-error.js';
import { errorMessage } from '../../core/errors.js';
import { parseJson } from '../../core/schema/json-value.js';
import { pause } from '../timers.js';
import { withinDeadline } from '../within-deadline.js';

/** Where the API server is and how to authenticate; read again when files change. */
export type KubeCredentials = {
  readonly server: string;
  readonly ca?: string;
  readonly clientCertificate?: string;
  readonly clientKey?: string;
  /** `Authorization` value; absent with client certificates. */
  readonly authorization?: string;
  readonly skipTlsVerify?: boolean;
  /** Name in the server's certificate when it differs from the host of `server`. */
  readonly serverName?: string;
  /** URL of an HTTP proxy in front of the server. */
  readonly proxy?: string;
};

/** `fresh` reads files and exec plugins again; otherwise the answer may be up to a minute old. */
export type CredentialSource = { load(fresh: boolean): Promise<KubeCredentials> };

export type KubeRequest = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Default `application/json`. */
  readonly contentType?: string;
  /** Default `application/json`; metadata-only lists ask for another. */
  readonly accept?: string;
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
};

/**
 * Pooled HTTP/1.1 to one API server. Unary calls share up to 32 connections and have a deadline. Watches have separate
 * agents without a body time-out (the reader guards against stalls). Agents are keyed by the hash of server, CA,
 * client certificate and proxy, so rotated files take effect at the next call. After a 401 the credentials are read again once.
 *
 * Never HTTP/2, which undici would choose: all calls share one connection there, a deadline ends its stream only, and a
 * connection that is half open answers nothing until TCP gives up after 15 minutes. Here a deadline closes the connection.
 * After a call without an answer the next ones open new connections, since others of that time may be dead as well.
 *
 * A 429 with `Retry-After` is not an answer yet: the server has not begun, e.g. because it has just got a definition and still reads
 * its objects. A unary call asks again as long as its deadline allows.
 */
export type KubeTransport = {
  /** Parsed JSON of a 2xx answer; anything else is a {@link KubeApiError}. */
  request(call: KubeRequest): Promise<unknown>;
  /** Body chunks of a 2xx answer; ends when the server ends it, throws KubeApiError(0) when the connection breaks. */
  stream(call: KubeRequest): Promise<AsyncIterable<Buffer>>;
  stop(): Promise<void>;
};

type TransportDeps = Pick<Ambient, 'log' | 'metrics'> & {
  readonly credentials: CredentialSource;
  readonly userAgent: string;
};

type ConnectionPool = { readonly key: string; readonly unary: Dispatcher; readonly watch: Dispatcher };

const unaryTimeoutMs = 30_000;
const maxConnections = 32;

export function createKubeTransport(deps: TransportDeps): KubeTransport {
  const requests = deps.metrics.counter({
    name: 'rest_client_requests_total',
    help: 'Requests to the Kubernetes API by method and code; code <error> when none came back',
    labels: ['method', 'code'],
  });
  const pools = new Map<string, ConnectionPool>();
  // Credentials are the same object for a minute, and to hash them takes a third of the CPU of a call.
  const keys = new WeakMap<KubeCredentials, string>();
  const stopped = new AbortController();

  async function send(call: KubeRequest, kind: 'unary' | 'watch'): Promise<Dispatcher.ResponseData> {
    const first = await attempt(call, kind, false);
    if (first.statusCode !== 401) return first;
    await first.body.dump();
    return attempt(call, kind, true);
  }

  async function attempt(
    call: KubeRequest,
    kind: 'unary' | 'watch',
    fresh: boolean,
  ): Promise<Dispatcher.ResponseData> {
    const credentials = await loadCredentials(fresh);
    const timeoutMs = Math.ceil(call.timeoutMs ?? unaryTimeoutMs);
    const endings = [stopped.signal, ...(call.signal ? [call.signal] : [])];
    const deadline = kind === 'unary' ? [AbortSignal.timeout(timeoutMs)] : [];
    const signal = AbortSignal.any([...endings, ...deadline]);
    const pool = poolFor(credentials);
    try {
      const asked = request(callUrl(credentials.server, call), {
        method: call.method,
        dispatcher:
          kind === 'unary' ? pool.unary.compose(sentBefore(performance.now() + timeoutMs)) : pool.watch,
        signal,
        headersTimeout: timeoutMs,
        bodyTimeout: kind === 'watch' ? 0 : timeoutMs,
        headers: {
          accept: call.accept ?? 'application/json',
          'user-agent': deps.userAgent,
          ...(credentials.authorization === undefined ? {} : { authorization: credentials.authorization }),
          ...(call.body === undefined ? {} : { 'content-type': call.contentType ?? 'application/json' }),
        },
        ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
      });
      const response = await withinDeadline(signal, asked);
      requests.with({ method: call.method, code: String(response.statusCode) }).inc();
      return response;
    } catch (error) {
      requests.with({ method: call.method, code: '<error>' }).inc();
      if (!endings.some(({ aborted }) => aborted)) retire(pool);
      throw unreachableServer(call, error);
    }
  }

  async function loadCredentials(fresh: boolean): Promise<KubeCredentials> {
    try {
      return await deps.credentials.load(fresh);
    } catch (error) {
      throw noAnswer('Credentials', 'credentials could not be read', error);
    }
  }

  function poolFor(credentials: KubeCredentials): ConnectionPool {
    const key = keys.get(credentials) ?? connectionKey(credentials);
    keys.set(credentials, key);
    const existing = pools.get(key);
    if (existing) return existing;
    // Certificates were rotated.
    for (const pool of pools.values()) retire(pool);
    const connect = {
      ...given({ ca: credentials.ca, cert: credentials.clientCertificate, key: credentials.clientKey }),
      ...given({ servername: credentials.serverName }),
      rejectUnauthorized: credentials.skipTlsVerify !== true,
      timeout: 10_000,
    };
    const common = { connect, allowH2: false, keepAliveTimeout: 30_000 };
    const { proxy: uri } = credentials;
    const tunnel = { requestTls: { ...connect, allowH2: false }, proxyTunnel: true, connectTimeout: 10_000 };
    const createAgent = (options: Agent.Options): Dispatcher =>
      uri === undefined ? new Agent(options) : new ProxyAgent({ ...options, ...tunnel, uri });
    const pool = {
      key,
      unary: createAgent({ ...common, connections: maxConnections }),
      watch: createAgent(common),
    };
    pools.set(key, pool);
    return pool;
  }

  /** Calls on its connections may finish, and no new ones start there. */
  function retire(pool: ConnectionPool): void {
    if (pools.get(pool.key) !== pool) return;
    pools.delete(pool.key);
    for (const agent of [pool.unary, pool.watch]) {
      agent
        .close()
        .catch((error: unknown) => deps.log.debug('closing connections failed', { error: String(error) }));
    }
  }

  return {
    async request(call) {
      const deadline = performance.now() + (call.timeoutMs ?? unaryTimeoutMs);
      for (;;) {
        const timeoutMs = Math.max(1, deadline - performance.now());
        const response = await send({ ...call, timeoutMs }, 'unary');
        const body = await readBody(call, response);
        if (response.statusCode < 300) return requireJson(call, body);
        const error = errorOfStatus(
          response.statusCode,
          tolerantJson(body),
          readHeader(response, 'retry-after'),
        );
        const waitMs = (error.retryAfterSeconds ?? Infinity) * 1000;
        if (error.status !== 429 || performance.now() + waitMs >= deadline) throw error;
        await pause(waitMs, AbortSignal.any([stopped.signal, ...(call.signal ? [call.signal] : [])]));
      }
    },

    async stream(call) {
      const response = await send(call, 'watch');
      if (response.statusCode >= 300) {
        const body = await readBody(call, response);
        throw errorOfStatus(response.statusCode, tolerantJson(body), readHeader(response, 'retry-after'));
      }
      return readChunks(call, response);
    },

    async stop() {
      if (stopped.signal.aborted) return;
      stopped.abort(new Error('the transport was stopped'));
      await Promise.all([...pools.values()].flatMap((pool) => [pool.unary.destroy(), pool.watch.destroy()]));
      pools.clear();
    },
  };
}

function connectionKey(credentials: KubeCredentials): string {
  const { server, ca, clientCertificate, clientKey, serverName, skipTlsVerify, proxy } = credentials;
  const parts = [server, ca, clientCertificate, clientKey, serverName, skipTlsVerify, proxy];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

/**
 * Gives up a request that has not been written by then. A signal does not suffice: a process that was stopped serves its sockets
 * first when it wakes, and would write a request whose time is over before any timer fires.
 */
function sentBefore(deadline: number): Dispatcher.DispatcherComposeInterceptor {
  return (dispatch) => (options, handler) => {
    const punctual: Dispatcher.DispatchHandler = new DecoratorHandler(handler);
    punctual.onRequestStart = (controller, context) => {
      if (performance.now() >= deadline) throw new Error('its time was over before it could be sent');
      handler.onRequestStart?.(controller, context);
    };
    return dispatch(options, punctual);
  };
}

async function readBody(call: KubeRequest, response: Dispatcher.ResponseData): Promise<string> {
  try {
    return await response.body.text();
  } catch (error) {
    throw unreachableServer(call, error);
  }
}

async function* readChunks(call: KubeRequest, response: Dispatcher.ResponseData): AsyncIterable<Buffer> {
  try {
    for await (const chunk of response.body) yield chunk as Buffer;
  } catch (error) {
    throw unreachableServer(call, error);
  }
}

function callUrl(server: string, call: KubeRequest): string {
  const query = call.query === undefined ? '' : `?${new URLSearchParams(call.query).toString()}`;
  return `${server.replace(/\/$/, '')}${call.path}${query}`;
}

function unreachableServer(call: KubeRequest, cause: unknown): KubeApiError {
  return noAnswer('Unreachable', `${call.method} ${call.path}: ${errorMessage(cause)}`, cause);
}

function requireJson(call: KubeRequest, body: string): unknown {
  try {
    return JSON.parse(body);
  } catch (error) {
    throw noAnswer('NotJson', `${call.method} ${call.path}: the answer is not JSON`, error);
  }
}

/** An error body may come from a proxy and contain anything; only its status counts. */
function tolerantJson(body: string): unknown {
  return parseJson(body) ?? { message: body.slice(0, 200) };
}

function readHeader(response: Dispatcher.ResponseData, name: string): string | undefined {
  const value = response.headers[name];
  return Array.isArray(value) ? value[0] : value;
}
