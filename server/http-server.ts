import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { pause } from '../adapters/pause.js';

/** A listening socket with limits, that can be drained. */
export type HttpServer = {
  /** Port 0 takes a free one. Rejects when the port is taken. */
  listen(port: number, host: string): Promise<{ readonly port: number }>;
  /**
   * Takes no new connection, lets requests in flight finish, closes connections as they fall idle, and after
   * `deadlineMs` whatever is left. Safe to call twice.
   *
   * Before that, for `goodbyeMs` at most, every answer says that its connection closes: a client that keeps connections
   * goes by itself then, while one whose idle connection is closed may lose a request that is on its way. Default 0.
   */
  stop(deadlineMs: number, goodbyeMs?: number): Promise<void>;
};

/** A client that sends its request more slowly than this holds a socket for nothing. */
const headersTimeoutMs = 10_000;
const requestTimeoutMs = 30_000;
/** Longer than the idle time of usual load balancers, which otherwise reuse a connection in the moment it closes. */
const keepAliveTimeoutMs = 75_000;
const unfinishedMs = 1_000;
/** How often idle connections are looked for while draining. */
const drainIntervalMs = 20;

export type ConnectionLimits = {
  readonly connections: number;
  /** Of them those of one address; undefined where all come from a proxy. */
  readonly perAddress: number | undefined;
};

/** The connections of a process, of which one address has a fifth at most. */
export const connectionLimits = { connections: 20_000, perAddress: 4_000 } as const;

export function createHttpServer(
  listener: RequestListener,
  { connections: maxConnections, perAddress }: ConnectionLimits = connectionLimits,
): HttpServer {
  let isStopping = false;
  const server = createServer(
    {
      headersTimeout: headersTimeoutMs,
      requestTimeout: requestTimeoutMs,
      keepAliveTimeout: keepAliveTimeoutMs,
      connectionsCheckingInterval: 5_000,
      maxHeaderSize: 16_384,
      noDelay: true,
    },
    (request, response) => {
      // Else a client that never pauses would keep its connection, and with it this process, until the deadline.
      if (isStopping) response.shouldKeepAlive = false;
      response.on('finish', () => endUnfinished(request));
      listener(request, response);
    },
  );
  server.maxConnections = maxConnections;
  if (perAddress !== undefined) limitPerAddress(server, perAddress);
  let stopped: Promise<void> | undefined;

  async function drain(deadlineMs: number, goodbyeMs: number): Promise<void> {
    isStopping = true;
    if (!server.listening) return;
    await goodbye(goodbyeMs);
    return new Promise((resolve) => {
      const closeIdle = setInterval(() => server.closeIdleConnections(), drainIntervalMs);
      const giveUp = setTimeout(() => server.closeAllConnections(), deadlineMs);
      server.close(() => {
        clearInterval(closeIdle);
        clearTimeout(giveUp);
        resolve();
      });
    });
  }

  /** Resolves when no connection is left, or the time is over. */
  async function goodbye(withinMs: number): Promise<void> {
    const deadline = performance.now() + withinMs;
    while (performance.now() < deadline && (await connections()) > 0) await pause(drainIntervalMs);
  }

  function connections(): Promise<number> {
    return new Promise((resolve) => server.getConnections((_error, count) => resolve(count)));
  }

  return {
    listen(port, host) {
      return new Promise((resolve, reject) => {
        server.once('error', reject);
        server.listen(port, host, () => {
          server.off('error', reject);
          resolve({ port: portOf(server.address()) });
        });
      });
    },
    stop(deadlineMs, goodbyeMs = 0) {
      stopped ??= drain(deadlineMs, goodbyeMs);
      return stopped;
    },
  };
}

/** Closes connections of an address that has its share already, before anything is read. */
function limitPerAddress(server: Server, perAddress: number): void {
  const open = new Map<string, number>();
  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? '';
    const others = open.get(address) ?? 0;
    if (others >= perAddress) {
      socket.destroy();
      return;
    }
    open.set(address, others + 1);
    socket.once('close', () => {
      const left = (open.get(address) ?? 1) - 1;
      if (left > 0) open.set(address, left);
      else open.delete(address);
    });
  });
}

/**
 * A body that has not arrived when its request is answered is thrown away as it comes; most clients send all before they read. One
 * that goes on for longer than that takes holds a socket for nothing.
 */
function endUnfinished(request: IncomingMessage): void {
  if (request.complete) return;
  const timer = setTimeout(() => {
    if (!request.complete) request.socket.destroy();
  }, unfinishedMs);
  request.once('close', () => clearTimeout(timer));
}

function portOf(address: AddressInfo | string | null): number {
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return address.port;
}
