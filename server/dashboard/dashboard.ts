import { randomBytes } from 'node:crypto';
import cors from 'cors';
import express from 'express';
import type { ErrorRequestHandler, Express, RequestHandler } from 'express';
import { createOutageLog } from '../../adapters/log/outage-log.js';
import { createPace } from '../../adapters/pace.js';
import { createTurns } from '../../adapters/turns.js';
import { createPasses } from '../../core/config/pass.js';
import { findQuota } from '../../core/config/platform.js';
import { DomainError, isDomainError } from '../../core/errors.js';
import { given } from '../../core/units/given.js';
import { createBodyAdmission } from '../http/body-admission.js';
import { createRateLimiter } from '../http/rate-limit.js';
import { createRequestIds } from '../http/request-id.js';
import { createCredentialReader } from './auth-token.js';
import { createAuthenticator } from './auth.js';
import { maxBodyBytes } from './body.js';
import { createCallLimits } from './call-limits.js';
import { consolePrefix, createConsole } from './console/routes.js';
import { createEndedSessions, createSessions } from './console/sessions.js';
import { createSpending } from './costs.js';
import type { DashboardDeps, Tools } from './deps.js';
import { createEndedTokens } from './ended-tokens.js';
import { documentEndpoints, manageEndpoints, managePrefix, platformEndpoints, prefix } from './endpoints.js';
import { renderError } from './errors.js';
import { createLastSeen } from './last-seen.js';
import { createFairLedger } from './ledger/fair-ledger.js';
import { createMethodReading } from './methods-thread.js';
import { createOpenApi } from './openapi.js';
import { createParsers } from './parse.js';
import { createPlatformRouter } from './platform/router.js';
import { createProgrammedWait } from './programmed.js';
import { createRouter } from './router.js';
import { createTokenUse } from './token-use.js';
import { createDryWrites, createWrites } from './writes.js';

/**
 * The dashboard management API as a request handler. It serves everything below `/api/v2/public/sdk`, the endpoints below `/manage/v1`,
 * and the console; it passes other requests on to the caller's next handler. It holds no connection and no timer, so there is nothing to
 * stop: a write that waits for the operator ends within `programmedTimeoutMs`.
 */
export function createDashboard(deps: DashboardDeps): Express {
  const { resources, configs, texts, masterKeys, webhooks, clock, log, usage } = deps;
  const { ledger, webhookUrls = {}, quotas = {}, platformTokens, explanations, events, notifications } = deps;
  const lastSeen = deps.lastSeen ?? createLastSeen({ resources, clock });
  const tools: Tools = {
    resources,
    texts,
    configs,
    masterKeys,
    webhooks,
    deliveries: createRateLimiter({ clock }),
    clock,
    log,
    usage,
    ...given({ ledger: ledger && createFairLedger(ledger), changes: ledger?.changes, names: ledger?.names }),
    ...given({ explanations, events, notifications }),
    passes: createPasses({ masterKeys, clock }),
    webhookUrls,
    quotas,
    lastSeen,
    pace: createPace(),
    writes: createWrites({ resources, clock, log }),
    dryWrites: createDryWrites({ resources, clock, log }),
    endedTokens: createEndedTokens({ resources, clock, log }),
    // Object names make duplicate creates collide in the store, however many replicas there are. Turns close the gap for renames and quotas
    // inside this process, so that an installation with one dashboard replica does not rely on a second check by the operator.
    turns: createTurns(),
    tokenUse: createTokenUse({ texts, clock }),
    methodsOf: createMethodReading(deps.abiPatienceMs),
    programmed: createProgrammedWait({ resources, configs, timeoutMs: deps.programmedTimeoutMs ?? 2000 }),
    parse: createParsers(webhookUrls),
    quotaOf: (organisation, name) => findQuota(organisation, { quotas }, name),
  };
  const openApi = createOpenApi();
  const ownSessionKey = randomBytes(32);
  const sessions = createSessions({ key: deps.sessionKey ?? (() => ownSessionKey), clock });
  const ended = createEndedSessions(texts);
  const readCredential = createCredentialReader(sessions);
  const limit = createCallLimits({ ...deps, credentialOf: readCredential });
  const authenticator = createAuthenticator({ lastSeen, configs, masterKeys, clock });
  const routing = {
    tools,
    authenticator,
    credentialOf: readCredential,
    ended,
    bodies: createBodyAdmission({
      totalBytes: 64 * maxBodyBytes,
      bodyBytes: maxBodyBytes,
      withinMs: 5_000,
    }),
    spend: createSpending(),
  };

  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', false);
  app.use((request, _response, next) => {
    request.url = collapseSlashes(request.url);
    next();
  });
  app.use([prefix, managePrefix], observe(deps), cors(corsOptions), limit);
  app.get(`${prefix}/openapi.json`, (_request, response) => void response.json(openApi));
  app.use(prefix, createRouter(documentEndpoints, routing));
  app.use(prefix, noSuchEndpoint);
  app.use(managePrefix, createPlatformRouter(platformEndpoints, { ...routing, tokens: platformTokens }));
  app.use(managePrefix, createRouter(manageEndpoints, routing));
  app.use(managePrefix, noSuchEndpoint);
  if (deps.hasConsole !== false)
    app.use(consolePrefix, observe(deps), createConsole({ ...deps, sessions, ended, authenticator }));
  app.use([prefix, managePrefix, consolePrefix], answerError(deps));
  return app;
}

const noSuchEndpoint: RequestHandler = ({ method, baseUrl, path }) => {
  throw new DomainError('NOT_FOUND', `There is no ${method} ${baseUrl}${path}`);
};

/** Any web page may call: the API is protected by its two headers, which a browser never adds by itself. */
const corsOptions: cors.CorsOptions = {
  origin: '*',
  methods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
  allowedHeaders: [
    'authToken',
    'Authorization',
    'apiKey',
    'Content-Type',
    'If-Match',
    'If-None-Match',
    'Idempotency-Key',
    'X-Request-Id',
  ],
  exposedHeaders: ['X-Programmed', 'X-Request-Id', 'Retry-After', 'ETag'],
  maxAge: 86_400,
};

function observe({ instruments }: DashboardDeps): RequestHandler {
  const requestIds = createRequestIds();
  return (request, response, next) => {
    const startedAt = performance.now();
    response.set('X-Request-Id', requestIds.next(request.get('X-Request-Id')));
    // Answers carry apiKeys.
    response.set('Cache-Control', 'no-store');
    response.on('finish', () => {
      const route = String(response.locals['route'] ?? 'other');
      instruments.dashboardRequests.with({ route, status: String(response.statusCode) }).inc();
      instruments.dashboardDuration.with({ route }).observe((performance.now() - startedAt) / 1000);
    });
    next();
  };
}

function answerError({ log, clock }: DashboardDeps): ErrorRequestHandler {
  const outages = createOutageLog({
    log,
    clock,
    messages: {
      begins: 'dashboard requests find something unavailable',
      goesOn: 'dashboard requests still find something unavailable',
      ends: 'dashboard requests find it available again',
    },
  });
  return (error: unknown, request, response, next) => {
    if (response.headersSent) return next(error);
    const { status, envelope, problem, retryAfterSeconds } = renderError(error);
    const fields = {
      requestId: response.get('X-Request-Id'),
      route: response.locals['route'],
      status,
      error,
    };
    if (isDomainError(error, 'UNAVAILABLE')) outages.failed(error.details.reason ?? error.code, fields);
    else if (status >= 500) log.error('dashboard request failed', fields);
    if (retryAfterSeconds !== undefined) response.set('Retry-After', String(retryAfterSeconds));
    response.status(status);
    if (request.baseUrl !== prefix) response.type('application/problem+json').json(problem);
    else response.json(envelope);
  };
}

/**
 * Collapses duplicate slashes in the path of a request target; the query is not changed. One documented sample posts to
 * `//api/v2/public/sdk/paymaster`, and base addresses are often configured with a slash at the end.
 */
export function collapseSlashes(target: string): string {
  const query = target.indexOf('?');
  const path = query === -1 ? target : target.slice(0, query);
  return path.replace(/\/{2,}/g, '/') + (query === -1 ? '' : target.slice(query));
}
