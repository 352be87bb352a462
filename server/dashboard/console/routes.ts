import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import express from 'express';
import type { Request, RequestHandler, Response, Router } from 'express';
import { hashCredential } from '../../../core/config/api-key.js';
import { DomainError } from '../../../core/errors.js';
import { formatInstant, type EpochMs } from '../../../core/units/time.js';
import { clientAddress } from '../../http/client-address.js';
import { createRateLimiter, requireRoom } from '../../http/rate-limit.js';
import type { Authenticator } from '../auth.js';
import type { DashboardDeps } from '../deps.js';
import { sessionMs, setCookie, type EndedSessions, type Session, type Sessions } from './sessions.js';

export const consolePrefix = '/console';

/** Of one client address, those that fail. A person mistypes a few times; a program that guesses gains nothing. */
const failedSignIns = { requests: 10, perSeconds: 60 };
/** Of one token, so that nobody locks others out: each session may leave a row when it is signed out. */
const signInsOfToken = { requests: 60, perSeconds: 60 };

const tooManySignIns = 'Too many attempts to sign in';

/** What `npm run build` made of `console/`. */
const files = fileURLToPath(new URL('../../../console/', import.meta.url));

type Deps = Pick<DashboardDeps, 'clock' | 'log' | 'trustedProxies' | 'consoleCode'> & {
  readonly sessions: Sessions;
  readonly ended: EndedSessions;
  readonly authenticator: Authenticator;
};

/** The console's files, and its sessions: `POST` signs in, or finds the session of the cookie again; `DELETE` signs out. */
export function createConsole(deps: Deps): Router {
  const { sessions, ended, authenticator, clock, log } = deps;
  const limiter = createRateLimiter({ clock });
  const router = express.Router();
  router.use(protect);

  router.post('/session', refuseOtherSites, express.json({ limit: '4kb' }), async (request, response) => {
    response.locals['route'] = 'POST /session';
    const given = givenBy(request);
    if (given === undefined) {
      const session = sessions.ofCookie(request);
      const isLive =
        session !== undefined &&
        (await authenticator.principal(session.sha256)) !== undefined &&
        !(await ended.has(session, true));
      if (!isLive) return void response.status(204).end();
      return answer(response, session);
    }
    // Counted before it is known whether it fails: of many at once none passes uncounted.
    const address = clientAddress(request, deps.trustedProxies ?? 0);
    requireRoom(limiter.take(address, failedSignIns), tooManySignIns);
    const token = 'token' in given ? given.token : redeem(request, given.code);
    const principal = token === undefined ? undefined : await authenticator.principal(hashCredential(token));
    if (token === undefined || principal === undefined)
      throw new DomainError('CREDENTIALS_REQUIRED', 'The token or code is not known, or has expired');
    limiter.giveBack(address);
    requireRoom(limiter.take(`token ${hashCredential(token)}`, signInsOfToken), tooManySignIns);
    const { cookie, ...session } = sessions.begin(token);
    response.set('Set-Cookie', setCookie(request, cookie, sessionMs / 1000));
    log.info('console sign-in', { organisation: principal.namespace, tokenName: principal.tokenName });
    return answer(response, session);
  });

  router.delete('/session', async (request, response) => {
    response.locals['route'] = 'DELETE /session';
    const session = sessions.of(request);
    if (session !== undefined) {
      await ended.end(session);
      response.set('Set-Cookie', setCookie(request, '', 0));
    }
    response.status(204).end();
  });

  /** A code works on this machine only: it is printed in a terminal, which others may see. */
  function redeem(request: Request, code: string): string | undefined {
    return isThisMachine(request.socket.remoteAddress) ? deps.consoleCode?.(code) : undefined;
  }

  router.use(preferCompressed, express.static(files, { cacheControl: false, setHeaders: describeFile }));
  return router;
}

/** The build leaves a compressed form beside each script and style. */
const preferCompressed: RequestHandler = (request, response, next) => {
  if (/\.(js|css)$/.test(request.url)) {
    response.vary('Accept-Encoding');
    if (request.acceptsEncodings('gzip') === 'gzip') request.url += '.gz';
  }
  next();
};

function describeFile(response: Response, path: string): void {
  // Names of assets change with their content.
  response.set('Cache-Control', path.endsWith('.html') ? 'no-cache' : 'public, max-age=31536000, immutable');
  if (path.endsWith('.gz')) response.type(extname(path.slice(0, -3))).set('Content-Encoding', 'gzip');
}

/** Of the other end of a connection, whatever its headers say. */
export function isThisMachine(peer = ''): boolean {
  return /^(::ffff:)?127\.|^::1$/.test(peer);
}

function answer(response: Response, { csrf, until }: Session): void {
  response.json({ csrf, until: formatInstant(until as EpochMs) });
}

/** Undefined when the page asks for the session that it has. */
function givenBy({ body }: Request): { readonly token: string } | { readonly code: string } | undefined {
  const { token, code } = (body ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof token === 'string' && token.trim() !== '') return { token: token.trim() };
  return typeof code === 'string' ? { code } : undefined;
}

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const protect: RequestHandler = (_request, response, next) => {
  response.set({
    'Content-Security-Policy': policy,
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Cache-Control': 'no-store',
  });
  next();
};

/** A page of another origin must not sign anybody in or out; without this header it is an older browser, stopped by the JSON body. */
const refuseOtherSites: RequestHandler = (request, _response, next) => {
  const site = request.get('Sec-Fetch-Site');
  if (site !== undefined && site !== 'same-origin')
    throw new DomainError('CREDENTIALS_REQUIRED', 'Only the console itself may sign in');
  next();
};
