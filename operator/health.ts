import { createServer, type ServerResponse } from 'node:http';
import { listen } from '../adapters/listen.js';
import type { PrometheusMetrics } from '../adapters/metrics/prometheus.js';
import type { Logger } from '../core/log.js';

/**
 * `/healthz`, `/readyz` and `/metrics` of a process that serves nothing else. An answer of `/healthz` proves that the event loop turns. It
 * says nothing about the API server, because a restart does not end its outage. A leader whose loop is stuck loses its lease and ends by
 * itself.
 */
export function createHealth(deps: {
  readonly isReady: () => boolean;
  readonly metrics: Pick<PrometheusMetrics, 'render'>;
  readonly log: Logger;
}) {
  const server = createServer((request, response) => {
    answer(request.url ?? '/', response).catch((error: unknown) => {
      deps.log.error('operations route failed', { path: request.url, error });
      response.destroy();
    });
  });
  server.headersTimeout = 10_000;
  server.requestTimeout = 10_000;

  async function answer(url: string, response: ServerResponse): Promise<void> {
    switch (url.split('?', 1)[0] ?? url) {
      case '/healthz':
        return send(response, 200, 'text/plain', 'ok\n');
      case '/readyz':
        return deps.isReady()
          ? send(response, 200, 'text/plain', 'ready\n')
          : send(response, 503, 'text/plain', 'not ready: the resources are not all known yet\n');
      case '/metrics': {
        const { contentType, body } = await deps.metrics.render();
        return send(response, 200, contentType, body);
      }
      default:
        return send(response, 404, 'text/plain', 'not found\n');
    }
  }

  return {
    /** Resolves with the port. */
    listen: (port: number, host: string): Promise<number> => listen(server, port, host),
    stop: (): Promise<void> =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function send(response: ServerResponse, status: number, contentType: string, body: string): void {
  response.writeHead(status, { 'content-type': contentType, 'cache-control': 'no-store' });
  response.end(body);
}
