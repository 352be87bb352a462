import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { listen } from '../../adapters/listen.js';
import { pause } from '../../adapters/timers.js';

/** A listening socket with limits, which can be drained. */
export type HttpServer = ReturnType<typeof createHttpServer>;

/** A client that sends its request more slowly than this holds a socket for nothing. */
const headersTimeoutMs = 10_000;
const requestTimeoutMs = 30_000;
/** Longer than the idle time of usual load balancers, which might otherwise reuse a connection at the moment it closes. */
const keepAliveTimeoutMs = 75_000;
/** An unfinished body of an answered request may pause for so long, and take so long in all. */
const unfinishedPauseMs = 1_000;
const unfinishedMs = 10_000;
/** A client that has not read all of its answers reads so many bytes of them in so long a time, or it is closed. */
const leastRead = 65_536;
const mostUnreadMs = 60_000;
const looksUntilClosed = 10;
/** How often idle connections are closed while draining. */
const drainIntervalMs = 20;

type ConnectionLimits = {
  readonly connections: number;
  /** Most connections of one address; undefined if all connections come from a proxy. */
  readonly perAddress: number | undefined;
  /** How long a client may leave an answer unread. Default 60 s. */
  readonly unreadMs?: number;
};

/** Most connections of a process; one address may have a fifth of them. */
export const connectionLimits = { connections: 20_000, perAddress: 4_000 } as const;

export function createHttpServer(
  listener: RequestListener,
  { connections: maxConnections, perAddress, unreadMs = mostUnreadMs }: ConnectionLimits = connectionLimits,
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
      response.on('finish', () => endUnfinished(request));
      listener(request, response);
    },
  );
  server.maxConnections = maxConnections;
  closeUnread(server, unreadMs);
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
 * Closes the connections of clients that do not read their answers, which would stay in memory. Looks are counted, not time: a
 * process that was too busy to write looks once.
 */
function closeUnread(server: Server, unreadMs: number): void {
  const reading = new Map<Socket, { bytes: number; looks: number }>();
  const look = (): void => {
    for (const [socket, { bytes: before, looks }] of reading) {
      const bytes = socket.bytesWritten - socket.writableLength;
      if (socket.writableLength === 0 || bytes - before >= leastRead)
        reading.set(socket, { bytes, looks: 0 });
      else if (looks < looksUntilClosed) reading.set(socket, { bytes: before, looks: looks + 1 });
      else socket.destroy();
    }
  };
  const timer = setInterval(look, unreadMs / looksUntilClosed).unref();
  server.once('close', () => clearInterval(timer));
  server.on('connection', (socket: Socket) => {
    reading.set(socket, { bytes: 0, looks: 0 });
    socket.once('close', () => reading.delete(socket));
  });
}

/**
 * A body that has not arrived completely when its request is answered is discarded as it comes, since most clients send all of it
 * before they read. One that stops coming, or takes too long, occupies a socket for nothing, so its connection is closed.
 */
function endUnfinished(request: IncomingMessage): void {
  if (request.complete) return;
  const { socket } = request;
  const endsAt = performance.now() + unfinishedMs;
  let before = socket.bytesRead;
  let timer: NodeJS.Timeout;
  const lookLater = (): void => {
    // Reads the socket once more first: a process that was busy may not have seen yet what has arrived.
    timer = setTimeout(() => setImmediate(look), unfinishedPauseMs);
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
