import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import {
  createServer as createRawServer,
  type AddressInfo,
  type Server as RawServer,
  type Socket,
} from 'node:net';
import type { Certificate } from './certificate.js';

export type ReceivedRequest = {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
};

/** A webhook host on loopback that records its requests. */
export type WebhookHost = {
  readonly port: number;
  readonly received: readonly ReceivedRequest[];
  /** Connections accepted so far. */
  readonly connections: () => number;
  stop(): Promise<void>;
};

export type Answer = (request: ReceivedRequest, response: Parameters<RequestListener>[1]) => void;

export const answerJson =
  (value: unknown, status = 200): Answer =>
  (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
  };

/** Answers the n-th request with the n-th answer, and all further ones with the last. */
export function startHost(
  answers: Answer | readonly Answer[],
  options: { readonly tls?: Certificate; readonly address?: string } = {},
): Promise<WebhookHost> {
  const list = typeof answers === 'function' ? [answers] : answers;
  const received: ReceivedRequest[] = [];
  const listener: RequestListener = (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url: path = '', headers } = request;
      const note = { method, path, headers, body: Buffer.concat(chunks).toString() };
      received.push(note);
      list[Math.min(received.length, list.length) - 1]?.(note, response);
    });
  };
  const server =
    options.tls === undefined ? createServer(listener) : createSecureServer(options.tls, listener);
  return listen(server, received, options.address);
}

/** A host below HTTP: `onSocket` handles each raw connection. */
export function startRawHost(onSocket: (socket: Socket) => void): Promise<WebhookHost> {
  return listen(createRawServer(onSocket), [], undefined);
}

function listen(
  server: Server | RawServer,
  received: readonly ReceivedRequest[],
  address = '127.0.0.1',
): Promise<WebhookHost> {
  const sockets = new Set<Socket>();
  let connections = 0;
  server.on('connection', (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
  });
  const stop = () =>
    new Promise<void>((resolve) => {
      for (const socket of sockets) socket.destroy();
      server.close(() => resolve());
    });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, address, () => {
      const { port } = server.address() as AddressInfo;
      resolve({ port, received, connections: () => connections, stop });
    });
  });
}
