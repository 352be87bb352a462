import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { listen } from '../../adapters/listen.js';
import { pause } from '../../adapters/timers.js';
import { countedAddress } from './client-address.js';

/** A listening socket with limits, which can be drained. */
export type HttpServer = ReturnType<typeof createHttpServer>;

/** A client that sends its request more slowly than this holds a socket for nothing. */
const headersTimeoutMs = 10_000;
const requestTimeoutMs = 30_000;
/** Longer than the idle time of usual load balancers, which might otherwise reuse a connection at the moment it closes. */
const keepAliveTimeoutMs = 75_000;
/** An unfinished body of an answered request may pause for so long, and take so long in all. */
type UnfinishedBody = { readonly pauseMs: number; readonly totalMs: number };
const unfinishedBody: UnfinishedBody = { pauseMs: 1_000, totalMs: 10_000 };
const maxUnreadMs = 60_000;
/** How often idle connections are closed while draining. */
const drainIntervalMs = 20;

type ConnectionLimits = {
  readonly connections: number;
  /** Most connections of one address; undefined if all connections come from a proxy. */
  readonly perAddress: number | undefined;
  /** How long a client may leave an answer unread. Default 60 s. */
  readonly unreadMs?: number;
  /** Default 1 s and 10 s. */
  readonly unfinished?: UnfinishedBody;
};

/** Most connections of a process; one address may have a fifth of them. */
export const connectionLimits = { connections: 20_000, perAddress: 4_000 } as const;

export function createHttpServer(
  listener: RequestListener,
  {
    connections: maxConnections,
    perAddress,
    unreadMs = maxUnreadMs,
    unfinished = unfinishedBody,
  }: ConnectionLimits = connectionLimits,
) {
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
      // Otherwise a client that never pauses would keep its connection open, and this process alive, until the deadline.
      if (isStopping) response.shouldKeepAlive = false;
      response.on('finish', () => endUnfinished(request, unfinished));
      listener(request, response);
    },
  );
  server.maxConnections = maxConnections;
  const unreadTimer = setInterval(watchUnread(server), unreadMs / slowReadChecks).unref();
  server.once('close', () => clearInterval(unreadTimer));
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

  /** Resolves when no connection is left, or after `withinMs`. */
  async function goodbye(withinMs: number): Promise<void> {
    const deadline = performance.now() + withinMs;
    while (performance.now() < deadline && (await connections()) > 0) await pause(drainIntervalMs);
  }

  function connections(): Promise<number> {
    return new Promise((resolve) => server.getConnections((_error, count) => resolve(count)));
  }

  return {
    /** Port 0 takes a free one. Rejects when the port is taken. */
    async listen(port: number, host: string): Promise<{ readonly port: number }> {
      return { port: await listen(server, port, host) };
    },
    /**
     * Takes no new connections, lets requests in flight finish, closes connections as they become idle, and closes
     * all that are left after `deadlineMs`. Safe to call twice.
     *
     * Before that, for at most `goodbyeMs`, every answer says that its connection closes, so that clients with kept
     * connections leave by themselves. Closing an idle connection instead may lose a request that is on its way. Default 0.
     */
    stop(deadlineMs: number, goodbyeMs = 0): Promise<void> {
      stopped ??= drain(deadlineMs, goodbyeMs);
      return stopped;
    },
  };
}

/** Closes a new connection of an address that has already used its share, before anything is read from it. */
function limitPerAddress(server: Server, perAddress: number): void {
  const open = new Map<string, number>();
  server.on('connection', (socket: Socket) => {
    const address = countedAddress(socket.remoteAddress ?? '');
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
 * A body that has not arrived completely when its request is answered is discarded as it comes, since most clients send all of it
 * before they read. One that stops coming, or takes too long, occupies a socket for nothing, so its connection is closed.
 */
function endUnfinished(request: IncomingMessage, { pauseMs, totalMs }: UnfinishedBody): void {
  if (request.complete) return;
  const { socket } = request;
  const endsAt = performance.now() + totalMs;
  let before = socket.bytesRead;
  let timer: NodeJS.Timeout;
  const lookLater = (): void => {
    // Reads the socket once more first: a process that was busy may not have seen yet what has arrived.
    timer = setTimeout(() => setImmediate(look), pauseMs);
  };
  const look = (): void => {
    if (request.complete || socket.destroyed) return;
    if (socket.bytesRead === before || performance.now() > endsAt) socket.destroy();
    else {
      before = socket.bytesRead;
      lookLater();
    }
  };
  lookLater();
  request.once('close', () => clearTimeout(timer));
}

/** A client that has not read all of its answers reads so many bytes of them between so many checks, or it is closed. */
const minReadBytes = 65_536;
export const slowReadChecks = 10;

/**
 * Closes the connections of clients that do not read their answers, which would stay in memory: each call of the returned
 * function is one check. Checks are counted, not time: a process that was too busy to write checks once.
 */
export function watchUnread(server: Server): () => void {
  const watched = new Map<Socket, { sentBytes: number; checks: number }>();
  server.on('connection', (socket: Socket) => {
    watched.set(socket, { sentBytes: 0, checks: 0 });
    socket.once('close', () => watched.delete(socket));
  });
  return () => {
    for (const [socket, { sentBytes: before, checks }] of watched) {
      const sentBytes = countSent(socket);
      if (socket.writableLength === 0 || sentBytes - before >= minReadBytes)
        watched.set(socket, { sentBytes, checks: 0 });
      else if (checks < slowReadChecks) watched.set(socket, { sentBytes: before, checks: checks + 1 });
      else socket.destroy();
    }
  };
}

/** The part of Node's handle of a socket by which its own `socket.setTimeout` sees that a long write goes on. */
type Handle = { readonly bytesWritten: number; readonly writeQueueSize: number };

/**
 * Bytes that the system has taken. `socket.bytesWritten` and `writableLength` change only when a whole chunk is written, and
 * an answer is often one chunk.
 */
function countSent(socket: Socket): number {
  const { _handle: handle } = socket as Socket & { readonly _handle?: Handle | null };
  return handle ? handle.bytesWritten - handle.writeQueueSize : 0;
}
