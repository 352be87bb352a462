import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from '../../core/log.js';
import type { Instruments } from './instruments.js';
import { createReadiness, isReadyFor, type ReadinessCheck } from './readiness.js';

export type OpsDeps = {
  readonly checks: readonly ReadinessCheck[];
  readonly metrics: { render(): Promise<{ readonly contentType: string; readonly body: string }> };
  readonly instruments: Pick<Instruments, 'ready'>;
  readonly log: Logger;
  /** Updates gauges that are read rather than counted. Called before each scrape. */
  readonly refresh?: () => void | Promise<void>;
  /** Default: measured in this process. */
  readonly lag?: EventLoopLag;
  /** A median lag above this makes the process unhealthy. Default 5 s. */
  readonly maxLagSeconds?: number;
};

export type Ops = ReturnType<typeof createOps>;

/**
 * - `/healthz`: is the process itself alive? An answer proves that the event loop runs; it fails only when the loop is
 *   permanently late. An outage of a store or a chain is never a reason to restart, so it is not checked.
 * - `/readyz`: should this replica get traffic? 200 or 503, with every check, and what to do about each failing check.
 * - `/metrics`: Prometheus text.
 */
export function createOps(deps: OpsDeps) {
  const lag = deps.lag ?? createEventLoopLag();
  const maxLagSeconds = deps.maxLagSeconds ?? 5;
  // So that the metric exists before the first probe.
  for (const { name } of deps.checks) deps.instruments.ready.with({ check: name }).set(0);

  const runChecks = createReadiness(deps.checks, deps.log);
  const checkAll = async () => {
    const reports = await runChecks();
    for (const { name, ready } of reports) deps.instruments.ready.with({ check: name }).set(ready ? 1 : 0);
    return reports;
  };

  const routes: Readonly<Record<string, () => Reply | Promise<Reply>>> = {
    '/healthz': () => {
      const { medianSeconds, maxSeconds } = lag.read();
      const isHealthy = medianSeconds <= maxLagSeconds;
      return json(isHealthy ? 200 : 503, {
        status: isHealthy ? 'ok' : 'event loop too slow',
        eventLoopLagSeconds: { median: medianSeconds, max: maxSeconds, allowed: maxLagSeconds },
      });
    },
    '/readyz': async () => {
      const checks = await checkAll();
      const ready = isReadyFor(checks);
      return json(ready ? 200 : 503, { ready, checks });
    },
    '/metrics': async () => {
      await Promise.all([checkAll(), deps.refresh?.()]);
      const { contentType, body } = await deps.metrics.render();
      return { status: 200, contentType, body };
    },
  };

  return {
    /** Answers `/healthz`, `/readyz` and `/metrics`; false when the request is for another path. Never throws. */
    handle(request: IncomingMessage, response: ServerResponse): boolean {
      const path = requestPath(request.url);
      const route = Object.hasOwn(routes, path) ? routes[path] : undefined;
      if (route === undefined) return false;
      if (request.method !== 'GET' && request.method !== 'HEAD') {
        response.setHeader('allow', 'GET, HEAD');
        send(response, json(405, { error: `${path} answers GET and HEAD` }), false);
        return true;
      }
      answer(route, request, response, deps.log);
      return true;
    },
    /** Runs the checks that `/readyz` shows. Never throws. */
    check: checkAll,
    stop: (): void => lag.stop(),
  };
}

type Reply = { readonly status: number; readonly contentType: string; readonly body: string };

function answer(
  route: () => Reply | Promise<Reply>,
  request: IncomingMessage,
  response: ServerResponse,
  log: Logger,
): void {
  Promise.resolve()
    .then(route)
    .catch((error: unknown) => {
      log.error('operations route failed', { path: requestPath(request.url), error });
      return json(500, { error: 'internal error, see the log' });
    })
    .then((reply) => send(response, reply, request.method === 'HEAD'))
    .catch((error: unknown) => log.warn('sending an operations answer failed', { error }));
}

function send(response: ServerResponse, { status, contentType, body }: Reply, isHead: boolean): void {
  response.statusCode = status;
  response.setHeader('content-type', contentType);
  response.setHeader('content-length', Buffer.byteLength(body));
  response.setHeader('cache-control', 'no-store');
  response.end(isHead ? undefined : body);
}

function json(status: number, value: unknown): Reply {
  return { status, contentType: 'application/json', body: `${JSON.stringify(value)}\n` };
}

/** Path without query. One trailing slash is ignored, since probes are often configured with it. */
function requestPath(url = '/'): string {
  const path = url.split('?', 1)[0] ?? '/';
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}

/** How late the event loop runs its timers. */
type EventLoopLag = ReturnType<typeof createEventLoopLag>;

const resolutionMs = 20;
const windowMs = 60_000;

/** Starts to measure; does not keep the process alive. */
function createEventLoopLag() {
  const histogram = monitorEventLoopDelay({ resolution: resolutionMs });
  histogram.enable();
  // Resets every minute: otherwise one stall at the start would be the worst delay for ever.
  const timer = setInterval(() => histogram.reset(), windowMs).unref();
  return {
    /** Median and worst delay in seconds since the last full minute began. */
    read: () => ({ medianSeconds: toLag(histogram.percentile(50)), maxSeconds: toLag(histogram.max) }),
    stop: (): void => {
      clearInterval(timer);
      histogram.disable();
    },
  };
}

/** The monitor records the whole time between two of its ticks in nanoseconds; only the part beyond its period is lag. */
function toLag(nanoseconds: number): number {
  return Math.max(0, nanoseconds / 1e9 - resolutionMs / 1000);
}
