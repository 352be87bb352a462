import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createKubeTransport, type KubeTransport } from '../../../adapters/kube/transport.js';
import { silentLogger } from '../../../core/log.js';
import type { Metrics } from '../../../core/metrics.js';
import { noMetrics } from '../../../core/metrics.js';

export type Thing = {
  readonly apiVersion: 'v1';
  readonly kind: 'Thing';
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly generation: number;
    readonly creationTimestamp: string;
  };
};

export type Call = {
  readonly kind: 'list' | 'probe' | 'watch-list' | 'watch';
  readonly query: URLSearchParams;
};
/** Answers one request in place of the server. */
export type Fault = (response: ServerResponse, call: Call) => void;

/** A small API server over HTTP that serves one collection correctly, unless a fault is due. */
export type ScriptedApi = {
  readonly transport: KubeTransport;
  readonly calls: readonly Call[];
  readonly things: Map<string, Thing>;
  /** Lets these faults answer the next requests of this kind, in order. */
  fail(kind: Call['kind'], ...faults: readonly Fault[]): void;
  put(name: string, options?: { readonly uid?: string }): Thing;
  remove(name: string): void;
  /** Sets the counter of resourceVersions, also back. */
  setVersion(version: number): void;
  version(): number;
  bookmark(): void;
  /** Cuts the connections of all open watches. */
  cut(how: 'end' | 'reset' | 'truncated'): void;
  openWatches(): number;
  stop(): Promise<void>;
};

export async function startScriptedApi(metrics: Metrics = noMetrics): Promise<ScriptedApi> {
  const things = new Map<string, Thing>();
  const calls: Call[] = [];
  const faults = new Map<Call['kind'], Fault[]>();
  const watches = new Set<ServerResponse>();
  /** Events of watches, by version: a client that resumes gets the events after its version. */
  const history = new Map<number, string>();
  let version = 10;

  const server = createServer((request, response) => {
    const call = callOf(request);
    calls.push(call);
    const fault = faults.get(call.kind)?.shift();
    if (fault !== undefined) return fault(response, call);
    if (call.kind === 'list' || call.kind === 'probe') return list(response);
    response.writeHead(200, { 'content-type': 'application/json' });
    watches.add(response);
    response.once('close', () => watches.delete(response));
    if (call.kind === 'watch') {
      response.flushHeaders();
      const from = Number(call.query.get('resourceVersion'));
      for (const [at, text] of history) if (at > from) response.write(text);
      return;
    }
    for (const thing of things.values()) response.write(line('ADDED', thing));
    response.write(endOfList(version));
  });
  // A connection that waits is not closed because the test was slow.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;

  function list(response: ServerResponse): void {
    const body = { metadata: { resourceVersion: String(version) }, items: [...things.values()] };
    response.end(JSON.stringify(body));
  }

  function tell(text: string): void {
    for (const watch of watches) watch.write(text);
  }

  function record(text: string): void {
    history.set(version, text);
    tell(text);
  }

  const transport = createKubeTransport({
    credentials: { load: async () => ({ server: `http://127.0.0.1:${port}` }) },
    userAgent: 'test',
    log: silentLogger,
    metrics,
  });
  return {
    transport,
    calls,
    things,
    fail: (kind, ...more) => void faults.set(kind, [...(faults.get(kind) ?? []), ...more]),
    put(name, options = {}) {
      version += 1;
      const before = things.get(name);
      const thing: Thing = {
        apiVersion: 'v1',
        kind: 'Thing',
        metadata: {
          name,
          namespace: 'test',
          uid: options.uid ?? before?.metadata.uid ?? `uid-${name}`,
          resourceVersion: String(version),
          generation: 1,
          creationTimestamp: '2026-01-01T00:00:00Z',
        },
      };
      things.set(name, thing);
      record(line(before === undefined ? 'ADDED' : 'MODIFIED', thing));
      return thing;
    },
    remove(name) {
      const thing = things.get(name);
      if (thing === undefined) return;
      version += 1;
      things.delete(name);
      record(
        line('DELETED', { ...thing, metadata: { ...thing.metadata, resourceVersion: String(version) } }),
      );
    },
    setVersion(next) {
      version = next;
      // A server that was reset to an older state does not have the events after that state.
      for (const at of history.keys()) if (at > next) history.delete(at);
    },
    version: () => version,
    bookmark: () =>
      tell(
        `${JSON.stringify({ type: 'BOOKMARK', object: { metadata: { resourceVersion: String(version) } } })}\n`,
      ),
    cut(how) {
      for (const watch of watches) {
        if (how === 'truncated') watch.write('{"type":"ADDED","object":{"metadata":{"na');
        if (how === 'reset') watch.socket?.resetAndDestroy();
        else watch.end();
      }
      watches.clear();
    },
    openWatches: () => watches.size,
    async stop() {
      await transport.stop();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A refusal with a Status body. */
export const refusal =
  (
    code: number,
    reason: string,
    extra: { readonly retryAfter?: string; readonly cause?: string } = {},
  ): Fault =>
  (response) => {
    response.writeHead(code, extra.retryAfter === undefined ? {} : { 'retry-after': extra.retryAfter });
    response.end(JSON.stringify(status(code, reason, extra.cause)));
  };

/** A watch that opens and then reports that the version is gone. */
export const errorEvent =
  (code: number, reason: string): Fault =>
  (response) => {
    response.writeHead(200);
    response.end(`${JSON.stringify({ type: 'ERROR', object: status(code, reason) })}\n`);
  };

/** A connection on which nothing ever arrives, as after a cable was pulled. */
export const silence: Fault = (response) => {
  response.writeHead(200);
  response.flushHeaders();
};

export function line(type: string, object: Thing): string {
  return `${JSON.stringify({ type, object })}\n`;
}

function status(code: number, reason: string, cause?: string): object {
  const details = cause === undefined ? {} : { causes: [{ reason: cause, message: cause }] };
  return { kind: 'Status', code, reason, message: `${reason} for a test`, details };
}

function endOfList(version: number): string {
  const metadata = { resourceVersion: String(version), annotations: { 'k8s.io/initial-events-end': 'true' } };
  return `${JSON.stringify({ type: 'BOOKMARK', object: { metadata } })}\n`;
}

function callOf(request: IncomingMessage): Call {
  const query = new URL(request.url ?? '/', 'http://api').searchParams;
  return { kind: kindOf(query), query };
}

function kindOf(query: URLSearchParams): Call['kind'] {
  if (query.get('watch') === 'true')
    return query.get('sendInitialEvents') === 'true' ? 'watch-list' : 'watch';
  return query.get('limit') === '1' ? 'probe' : 'list';
}
