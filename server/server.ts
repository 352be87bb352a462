import type { IncomingMessage, ServerResponse } from 'node:http';
import { createExplanations, type Explanations } from '../adapters/explanations/explanations.js';
import { createNotificationClient } from '../adapters/notifications/notification-client.js';
import { systemTimers } from '../adapters/timers.js';
import type { ConfigStore } from '../core/config/config-store.js';
import { createPasses } from '../core/config/pass.js';
import type { Metrics } from '../core/metrics.js';
import type { ResourceStore } from '../core/resources/resource-store.js';
import type { WebhookMasterKeys } from '../core/secrets.js';
import { given } from '../core/units/given.js';
import type { KeptTexts } from '../core/usage/kept-texts.js';
import type { UsageReading } from '../core/usage/usage-store.js';
import type { Role } from './config.js';
import { createDashboard } from './dashboard/dashboard.js';
import type { DashboardDeps } from './dashboard/deps.js';
import { followTokens } from './dashboard/ended-tokens.js';
import { createFairLedger } from './dashboard/ledger/fair-ledger.js';
import { createNotificationSender } from './dashboard/notifications/sender.js';
import { createLastSeen } from './dashboard/last-seen.js';
import { createDataPlane, type DataPlaneDeps } from './data-plane.js';
import { connectionLimits, createHttpServer, type HttpServer } from './http/http-server.js';
import { createInstruments, type Instruments } from './ops/instruments.js';
import { createOps } from './ops/ops.js';
import { isReadyFor, sharedDependency, type CheckReport, type ReadinessCheck } from './ops/readiness.js';
import { usageStoreCheck } from './serving-checks.js';
import { createOpenRpc } from './rpc/openrpc.js';
import { isRpcPath } from './rpc/path.js';

/** The dependencies of the rpc role; the dashboard role uses some of them too. */
type ServerDeps = Omit<DataPlaneDeps, 'configs' | 'metrics' | 'instruments' | 'passes'> & {
  readonly roles: readonly Role[];
  readonly configs: ConfigStore;
  /** Of the rpc role, for passes of dashboards. Default: those of the dashboard role. */
  readonly webhookKeys?: WebhookMasterKeys;
  /** What its replicas remember by name; required for the dashboard role. */
  readonly texts?: KeptTexts;
  /** Further dependencies of the dashboard role; required for it. */
  readonly dashboard?: Pick<
    DashboardDeps,
    | 'masterKeys'
    | 'sessionKey'
    | 'webhookUrls'
    | 'quotas'
    | 'programmedTimeoutMs'
    | 'rateLimit'
    | 'addressRateLimit'
    | 'hasConsole'
    | 'platformTokens'
    | 'consoleCode'
    | 'ledger'
    | 'events'
  > & {
    readonly resources: ResourceStore;
    /** What people are shown of limits and balances. Default: the usage store. */
    readonly usage?: UsageReading;
    /** Files that `urlFile` of notifications names, and how often somebody may be told. Default: no files, every minute. */
    readonly notify?: { readonly directory?: string; readonly everyMs?: number };
    /** URL of the JSON-RPC server that explains. Default: this process, if it has the rpc role. */
    readonly jsonRpcUrl?: string;
  };
  /** Why a request is not for this process; undefined: it is. Default: every one is, since a proxy in front decides that. */
  readonly misdirected?: (request: IncomingMessage) => string | undefined;
  /** Handles further paths of this process; true when it has answered. */
  readonly handle?: (request: IncomingMessage, response: ServerResponse) => boolean;
  /** For how long answers ask clients to close kept connections before a stop closes them. Default 0. */
  readonly goodbyeMs?: number;
  readonly metrics: Metrics & { render(): Promise<{ readonly contentType: string; readonly body: string }> };
};

type ReadyReport = { readonly ready: boolean; readonly checks: readonly CheckReport[] };

export type Server = ReturnType<typeof createServer>;

const drainMs = 10_000;
/** Time for a running scrape to finish. */
const opsDrainMs = 1_000;

/**
 * One HTTP server for all roles of a process. JSON-RPC is dispatched before the express application that serves the
 * dashboard, since express costs more than twice as much as a signature. The stores, chains and clients that are passed
 * in belong to the caller, which stops them afterwards.
 */
export function createServer(deps: ServerDeps) {
  const { log } = deps;
  const instruments = createInstruments(deps.metrics);
  const isDashboard = deps.roles.includes('dashboard');
  const keys = deps.webhookKeys ?? deps.dashboard?.masterKeys;
  const passes = keys && createPasses({ masterKeys: keys, clock: deps.clock });
  const dataPlane = deps.roles.includes('rpc')
    ? createDataPlane({ ...deps, instruments, ...given({ passes }) })
    : undefined;
  let ownUrl = '';
  const jsonRpcUrl = deps.dashboard?.jsonRpcUrl;
  const explanations =
    isDashboard && (jsonRpcUrl !== undefined || dataPlane !== undefined)
      ? createExplanations(() => jsonRpcUrl ?? ownUrl)
      : undefined;
  const openRpc = dataPlane === undefined ? undefined : JSON.stringify(createOpenRpc());
  const dashboard = isDashboard
    ? createDashboardRole(deps, { instruments, ...given({ explanations }) })
    : undefined;
  let isStopping = false;
  const checks: readonly ReadinessCheck[] = [
    {
      name: 'serving',
      action: 'Wait for the restart: this process is stopping.',
      isReady: () => !isStopping,
    },
    ...(dataPlane?.checks ?? []),
    ...(dashboard?.checks ?? []),
  ];
  const ops = createOps({ checks, metrics: deps.metrics, instruments, log, refresh });
  // Behind a proxy all connections come from the proxy.
  const perAddress = (deps.trustedProxies ?? 0) > 0 ? undefined : connectionLimits.perAddress;
  const http = createHttpServer(dispatch, { ...connectionLimits, perAddress });
  let opsHttp: HttpServer | undefined;
  let stopped: Promise<void> | undefined;

  function dispatch(request: IncomingMessage, response: ServerResponse): void {
    const misdirected = deps.misdirected?.(request);
    if (misdirected !== undefined) return answerMisdirected(response, misdirected);
    // The paths of deliveries begin like those of JSON-RPC, where the next segment is a chain.
    if (dataPlane?.deliver(request, response) === true) return;
    const url = request.url ?? '';
    if (dataPlane !== undefined && isRpcPath(url)) return dataPlane.route(request, response);
    if (opsHttp === undefined && ops.handle(request, response)) return;
    if (deps.handle?.(request, response) === true) return;
    if (openRpc !== undefined && request.method === 'GET' && request.url === '/openrpc.json')
      return answerJson(response, 200, openRpc);
    if (request.method === 'GET' && request.url === '/')
      return answerJson(response, 200, renderIndex(deps.roles, opsHttp === undefined));
    if (dashboard === undefined) answerNotFound(response);
    else dashboard.app(request, response, () => answerNotFound(response));
  }

  function answerOps(request: IncomingMessage, response: ServerResponse): void {
    if (!ops.handle(request, response)) answerNotFound(response);
  }

  function refresh(): void {
    if (dataPlane === undefined) return;
    const { ofKeys, ofStrangers } = dataPlane.bodies;
    instruments.bodyBytes.with({ sender: 'key' }).set(ofKeys.heldBytes);
    instruments.bodyBytes.with({ sender: 'stranger' }).set(ofStrangers.heldBytes);
    const staleness = dataPlane.view.staleness();
    if (Number.isFinite(staleness)) instruments.configAge.with({}).set(staleness / 1000);
  }

  async function stop(): Promise<void> {
    isStopping = true;
    await http.stop(drainMs, deps.goodbyeMs);
    await explanations?.stop();
    await dashboard?.stop();
    await dataPlane?.stop();
    // Stopped last: until then it answers that this process is alive and not ready.
    await opsHttp?.stop(opsDrainMs);
    ops.stop();
  }

  return {
    /**
     * Starts the parts that the roles need and takes requests; port 0 takes a free one. Resolves when the server is ready for traffic. With an
     * `opsPort`, health and metrics are answered there only: clients of the service cannot ask for them.
     */
    async listen(
      port: number,
      host: string,
      opsPort?: number,
    ): Promise<{ readonly port: number; readonly opsPort: number }> {
      // Listens first, so that probes are answered while configs arrive.
      if (opsPort !== undefined) opsHttp = createHttpServer(answerOps);
      const opsAddress = await opsHttp?.listen(opsPort ?? 0, host);
      const address = await http.listen(port, host);
      ownUrl = `http://${toOwnHost(host)}:${address.port}`;
      await dataPlane?.start();
      dashboard?.start();
      const ports = { port: address.port, opsPort: opsAddress?.port ?? address.port };
      log.info('server is ready', { ...ports, roles: deps.roles });
      return ports;
    },
    async ready(): Promise<ReadyReport> {
      const reports = await ops.check();
      return { ready: isReadyFor(reports), checks: reports };
    },
    /** Lets requests in flight finish within ten seconds, then stops everything that this server started. Safe to call twice. */
    stop(): Promise<void> {
      stopped ??= stop();
      return stopped;
    },
  };
}

function createDashboardRole(
  deps: ServerDeps,
  shared: { readonly instruments: Instruments; readonly explanations?: Pick<Explanations, 'ask'> },
) {
  const { configs, texts, usage, webhooks, clock, log, release } = deps;
  if (deps.dashboard === undefined || texts === undefined)
    throw new Error('the dashboard role needs resources, master keys and a store of texts');
  // A watch keeps what was last seen of the Organisations current, and the readiness check says that the API server answers.
  const lastSeen = createLastSeen({ resources: deps.dashboard.resources, clock });
  const { masterKeys, webhookUrls, ledger, notify = {} } = deps.dashboard;
  const notifications = createNotificationClient({
    ...webhookUrls,
    masterKeys,
    clock,
    ...given({ directory: notify.directory }),
  });
  const reading = deps.dashboard.usage ?? usage;
  const app: RequestHandler = createDashboard({
    usage,
    ...deps.dashboard,
    notifications,
    trustedProxies: deps.trustedProxies ?? 0,
    configs,
    webhooks,
    texts,
    lastSeen,
    clock,
    log,
    ...shared,
  });
  const { resources } = deps.dashboard;
  const checks: readonly ReadinessCheck[] = [
    sharedDependency(
      {
        name: 'resource-store',
        action: 'Check that the resource store answers; the dashboard API reads and writes it.',
        isReady: async () => {
          await resources.page('Organisation', { limit: 1 });
          lastSeen.confirm();
          return true;
        },
      },
      clock,
      // While the API server is away, nobody can take a pod out of a Service, so this counts only where others reach it.
      { unreadyAfterMs: 60_000 },
    ),
    // The rpc role has this check, too.
    ...(deps.roles.includes('rpc')
      ? []
      : [usageStoreCheck(() => usage.ping().then(() => true), { release, clock })]),
  ];
  const sender = createNotificationSender({
    sources: {
      resources,
      configs,
      lastSeen,
      clock,
      usage: reading,
      ...given({ ledger: ledger && createFairLedger(ledger) }),
    },
    texts,
    client: notifications,
    everyMs: notify.everyMs ?? 60_000,
    log,
    metrics: deps.metrics,
  });
  let following: ReturnType<typeof followTokens> | undefined;
  return {
    app,
    checks,
    start: () => {
      sender.start();
      following = followTokens({
        resources,
        clock,
        log,
        timers: systemTimers,
        onOrganisations: lastSeen.saw,
      });
    },
    stop: async () => {
      await sender.stop();
      await notifications.stop();
      await following?.stop();
    },
  };
}

/** Where this process reaches itself. */
function toOwnHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

type RequestHandler = (request: IncomingMessage, response: ServerResponse, next: () => void) => void;

/** A page of another site may have made its own name point here. */
function answerMisdirected(response: ServerResponse, message: string): void {
  answerJson(response, 421, JSON.stringify({ message }));
}

function answerNotFound(response: ServerResponse): void {
  answerJson(response, 404, JSON.stringify({ statusCode: 404, message: 'Not found' }));
}

function answerJson(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'access-control-allow-origin': '*',
  });
  response.end(body);
}

/** What `GET /` answers: the addresses of this process, for anyone who has only its origin. */
function renderIndex(roles: readonly Role[], hasOps: boolean): string {
  const addresses = {
    ...(roles.includes('rpc')
      ? {
          'POST /api/v1/{chainId}/{apiKey}': 'JSON-RPC of wallets and SDKs; /api/v2/{chainId}/{apiKey} alike',
          'GET /openrpc.json': 'its methods, errors and reasons',
          'POST /api/v1/webhooks/{policyId}/deliveries':
            'test delivery of a webhook policy (authToken, apiKey)',
        }
      : {}),
    ...(roles.includes('dashboard')
      ? {
          '/console/': 'console, in a browser (authToken)',
          '/api/v2/public/sdk/…': 'dashboard API (authToken, apiKey)',
          'GET /api/v2/public/sdk/openapi.json': 'its endpoints, and what webhook hosts are sent',
          'GET /manage/v1/usage, /decisions, /limits, /funds':
            'what was decided, mined and spent (authToken)',
          'POST /manage/v1/what-if': 'what other rules would have done (authToken)',
        }
      : {}),
    ...(hasOps
      ? {
          'GET /healthz': 'whether the process is alive',
          'GET /readyz': 'whether it should get traffic, and what to do about each check that fails',
          'GET /metrics': 'Prometheus',
        }
      : {}),
  };
  return JSON.stringify({ name: 'paymaster-operator', roles, addresses }, null, 2);
}
