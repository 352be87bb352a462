import express from 'express';
import type { IRouter, Request, Response } from 'express';
import { DomainError, isDomainError } from '../../core/errors.js';
import type { TokenScope } from '../../core/resources/dashboard-token.js';
import type { Paymaster } from '../../core/resources/paymaster.js';
import { unknownFields } from '../../core/schema/unknown-fields.js';
import { given as definedOnly } from '../../core/units/given.js';
import type { BodyAdmission } from '../http/body-admission.js';
import { limited } from '../http/rate-limit.js';
import type { CredentialOf } from './auth-token.js';
import type { Authenticator, Principal } from './auth.js';
import { parseBody, readBody } from './body.js';
import type { Reply } from './call.js';
import type { EndedSessions } from './console/sessions.js';
import type { Spending } from './costs.js';
import type { Tools } from './deps.js';
import type { Endpoint } from './endpoint.js';
import { credentialsRequired } from './errors.js';
import { doOnce, isDoneOnce } from './idempotency.js';
import { readParameters } from './parameters.js';
import { goneSignal, send } from './send.js';
import { recordedWrites } from './writes.js';

export type RouterDeps = {
  readonly tools: Tools;
  readonly authenticator: Authenticator;
  readonly credentialOf: CredentialOf;
  readonly ended: Pick<EndedSessions, 'has'>;
  /** Bounds the bodies that are held at once, by organisation. */
  readonly bodies: BodyAdmission;
  /** Bounds the answers that are open at once. */
  readonly spend: Spending;
};

/** Routes every endpoint under the spellings of its path. Errors go to the application's one error handler. */
export function createRouter(endpoints: readonly Endpoint[], deps: RouterDeps): IRouter {
  const router = express.Router();
  const { tools, bodies, spend } = deps;
  for (const endpoint of endpoints) {
    const { method, path, parameters = {}, message, body: form, cost } = endpoint;
    router[method](message === undefined ? path : spellings(path), async (request, response) => {
      // Names the route in metrics, also when the answer is an error.
      response.locals['route'] = `${method.toUpperCase()} ${path}`;
      // Credentials come before the body, so that an unknown caller cannot make us read, parse or store anything.
      const caller = await identify(endpoint, request, deps);
      const { principal } = caller;
      const { search } = new URL(request.url, 'http://localhost');
      const given = readParameters(search, parameters, message === undefined ? 'refused' : 'ignored');
      const sent = form && (await readAdmittedBody(request, response, bodies, principal.namespace));
      await spend(cost, principal, async () => {
        const body = form?.parse(tools, sent);
        const requestId = response.get('X-Request-Id') ?? '';
        const call = {
          principal,
          ...definedOnly({ paymaster: caller.paymaster }),
          requestId,
          given,
          params: readParams(request),
          body,
          gone: goneSignal(response),
          ...definedOnly({
            ifMatch: readHeader(request, 'If-Match'),
            ifNoneMatch: readHeader(request, 'If-None-Match'),
          }),
        };
        const work = async () => {
          const writes = recordedWrites(tools, principal, requestId);
          const reply = await endpoint.handle({ ...tools, writes }, call);
          logWrite(endpoint, caller, reply, { tools, response });
          return reply;
        };
        const key = isDoneOnce(endpoint) ? readHeader(request, 'Idempotency-Key') : undefined;
        const once = {
          key: key ?? '',
          sha256: caller.sha256,
          request: [method, request.url, sent, call.ifMatch],
        };
        const reply = await (key === undefined
          ? work()
          : doOnce(tools, once, endpoint.isSecret === true, work));
        const warnings = [...bodyWarnings(endpoint, sent), ...(reply.warnings ?? [])];
        await send(request, response, endpoint, { ...reply, warnings });
        // It stays in memory until the client has read it.
        if (cost !== undefined && !response.closed)
          await new Promise((resolve) => response.once('close', resolve));
      });
    });
  }
  return router;
}

/**
 * `/paymaster` and `/paymasterParameters` are one path: the vendor serves the first, the service document spells the
 * second.
 */
function spellings(path: string): [string, string] {
  return [path, path.replace(/^\/[^/]+/, (segment) => `${segment}Parameters`)];
}

type Caller = { readonly principal: Principal; readonly sha256: string; readonly paymaster?: Paymaster };

async function identify(
  endpoint: Endpoint,
  request: Request,
  { authenticator, credentialOf, ended, tools }: RouterDeps,
): Promise<Caller> {
  const { scope, method, message, wrongToken, wrongKey } = endpoint;
  const credential = credentialOf(request);
  const key = readHeader(request, 'apiKey');
  if (credential === undefined || (scope === 'paymaster' && key === undefined))
    throw credentialsRequired(endpoint);
  // Readings of the ledger go on while the API server is away.
  const isReading = method === 'get' && message === undefined;
  const { sha256, session } = credential;
  const principal = await (isReading ? authenticator.reader(sha256) : authenticator.principal(sha256));
  if (principal === undefined) throw wrong(endpoint, wrongToken);
  if (session !== undefined && (await ended.has(session, isReading))) throw credentialsRequired(endpoint);
  tools.tokenUse.note(sha256);
  requireScope(endpoint, principal);
  if (scope === 'organisation' || key === undefined) return { principal, sha256 };
  const paymaster = await authenticator.paymaster(principal, key);
  if (paymaster === undefined) throw wrong(endpoint, wrongKey);
  return { principal, sha256, paymaster };
}

function wrong(endpoint: Endpoint, code: Endpoint['wrongKey']): DomainError {
  return code === undefined
    ? credentialsRequired(endpoint)
    : new DomainError(code, 'The credentials belong to nobody');
}

function requireScope({ needs = [] }: Endpoint, { scopes }: Principal): void {
  const enough: readonly TokenScope[] = [...needs, 'write'];
  if (!scopes.some((scope) => enough.includes(scope)))
    throw new DomainError('SCOPE_REQUIRED', `The token needs the scope ${enough.join(' or ')}`);
}

/** An empty header counts as missing. */
function readHeader(request: Request, name: string): string | undefined {
  return request.get(name)?.trim() || undefined;
}

function logWrite(
  { operationId }: Endpoint,
  { principal, paymaster }: Caller,
  { object, programmed }: Reply,
  { tools, response }: { readonly tools: Tools; readonly response: Response },
): void {
  if (programmed === undefined) return;
  tools.log.info('dashboard write', {
    requestId: response.get('X-Request-Id'),
    operation: operationId,
    organisation: principal.namespace,
    tokenName: principal.tokenName,
    paymaster: paymaster?.metadata.name,
    kind: object?.kind,
    object: object?.metadata.name,
    programmed,
  });
}

/** One sentence per ignored field of a body: a misspelt optional field would otherwise silently mean its default. */
function bodyWarnings({ body: form }: Endpoint, body: unknown): readonly string[] {
  if (form?.schemaOf === undefined) return [];
  return unknownFields(form.schemaOf(body), body).map(({ field, nearest }) =>
    nearest === undefined
      ? `${field} is not known and was ignored`
      : `${field} is not known and was ignored: did you mean ${nearest}?`,
  );
}

/**
 * The body counts for its organisation until it is answered. Throws RATE_LIMITED when the organisation holds too much, or
 * the body arrives too slowly.
 */
async function readAdmittedBody(
  request: Request,
  response: Response,
  { admit, limits }: BodyAdmission,
  namespace: string,
): Promise<unknown> {
  // The token names the caller, so the address is not needed.
  const admitted = admit(namespace, namespace);
  response.once('close', () => admitted.release());
  const error = await new Promise<unknown>((resolve) => {
    const inTime = admitted.begin(() =>
      resolve(limited('BODY_SLOW', `The request body must arrive within ${limits.withinMs} ms.`)),
    );
    const settle = (outcome: unknown): void => {
      inTime();
      resolve(outcome);
    };
    request.on('data', (chunk: Buffer) => {
      if (!admitted.take(chunk.length)) settle(full());
    });
    // A compressed body may grow a thousandfold, so it counts as the largest size that it may reach.
    const isCompressed = (request.get('content-encoding') ?? 'identity') !== 'identity';
    if (isCompressed && !admitted.take(limits.bodyBytes)) return settle(full());
    readBytes(request, response, settle);
  });
  // The rest of the body is not wanted.
  if (isDomainError(error, 'RATE_LIMITED')) response.set('Connection', 'close');
  if (error !== undefined) throw toError(error);
  return parseBody(request.body);
}

function full(): DomainError {
  return limited('BODIES_FULL', 'Too many request bodies are being read: try again in a second.');
}

const readBytes = readBody();

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error('unreadable body', { cause: error });
}

export function readParams({ params }: Request): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(params).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
  );
}
