import { createServer, type ServerResponse } from 'node:http';
import { request } from 'node:https';
import type { ControlPlane } from '../../support/cluster/control-plane.js';

export const faults = ['reset', 'truncated', 'half-open', 'expired', 'gone', 'busy', 'failing'] as const;
export type Fault = (typeof faults)[number];

/** A proxy between a client and a real API server that fails on command. Clients connect to it with plain HTTP. */
export type FaultyProxy = {
  readonly url: string;
  /**
   * For open watches: `reset` breaks the connection, `truncated` ends it inside a frame, `half-open` sends nothing further,
   * `expired` reports that the version is gone. For the next request: `gone` is 410, `busy` 429, `failing` 500.
   */
  inject(fault: Fault): void;
  /** Breaks open connections and lets nothing pass until `restore`. */
  interrupt(): void;
  restore(): void;
  stop(): Promise<void>;
};

const expired = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version' };
const refusals = {
  gone: { code: 410, body: expired },
  busy: { code: 429, body: { kind: 'Status', code: 429, reason: 'TooManyRequests' } },
  failing: { code: 500, body: { kind: 'Status', code: 500, reason: 'InternalError' } },
} as const;

export async function startFaultyProxy(plane: ControlPlane): Promise<FaultyProxy> {
  const watches = new Map<ServerResponse, { isSilent: boolean }>();
  const due: (keyof typeof refusals)[] = [];
  let isInterrupted = false;

  const server = createServer((incoming, response) => {
    if (isInterrupted) return void incoming.socket.resetAndDestroy();
    const refusal = due.shift();
    if (refusal !== undefined) {
      const { code, body } = refusals[refusal];
      response.writeHead(code, { 'content-type': 'application/json', 'retry-after': '0' });
      return void response.end(JSON.stringify(body));
    }
    const watch = { isSilent: false };
    const outgoing = request(
      new URL(incoming.url ?? '/', plane.url),
      {
        method: incoming.method ?? 'GET',
        ca: plane.ca(),
        headers: {
          authorization: `Bearer ${plane.token('admin')}`,
          accept: incoming.headers.accept ?? 'application/json',
        },
      },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, {
          'content-type': answer.headers['content-type'] ?? 'application/json',
        });
        response.flushHeaders();
        if (incoming.url?.includes('watch=true')) watches.set(response, watch);
        answer.on('data', (chunk: Buffer) => watch.isSilent || response.write(chunk));
        answer.on('end', () => watch.isSilent || response.end());
        answer.on('error', () => response.destroy());
      },
    );
    outgoing.on('error', () => response.destroy());
    response.on('close', () => {
      watches.delete(response);
      outgoing.destroy();
    });
    incoming.pipe(outgoing);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port');

  function breakWatch(fault: Fault, response: ServerResponse, watch: { isSilent: boolean }): void {
    watch.isSilent = true;
    if (fault === 'reset') response.socket?.resetAndDestroy();
    if (fault === 'truncated') response.end('{"type":"MODIFIED","object":{"metadata":{"na');
    if (fault === 'expired') response.end(`${JSON.stringify({ type: 'ERROR', object: expired })}\n`);
  }

  return {
    url: `http://127.0.0.1:${address.port}`,
    inject(fault) {
      if (fault === 'gone' || fault === 'busy' || fault === 'failing') {
        due.push(fault);
        // Makes the client send a next request.
        fault = 'reset';
      }
      for (const [response, watch] of watches) breakWatch(fault, response, watch);
    },
    interrupt() {
      isInterrupted = true;
      server.closeAllConnections();
    },
    restore() {
      isInterrupted = false;
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
