import express from 'express';
import type { IRouter, Request, Response } from 'express';
import { FairSlots } from '../../adapters/fair-slots.js';
import type { ErrorReason } from '../../core/error-reasons.js';
import { DomainError, isDomainError } from '../../core/errors.js';
import type { Logger } from '../../core/log.js';
import { parseBody, readBody } from './body.js';
import type { Authenticator, Principal } from './auth.js';
import type { BodyAdmission } from '../http/body-admission.js';
import type { Call, Endpoint, PaymasterCall, Reply } from './endpoint.js';
import { inSlot, listsAtOnce, readPageQuery } from './lists.js';
import { sendList } from './send-list.js';
import { successEnvelope } from './envelope.js';
import { credentialsRequired } from './errors.js';
import { bodyWarnings } from './warnings.js';

export type RouterDeps = {
  readonly authenticator: Authenticator;
  readonly log: Logger;
  /** Bounds the bodies that are held at once, by organisation. */
  readonly bodies: BodyAdmission;
};

/** Routes every endpoint under both spellings of its path. Errors go to the application's one error handler. */
export function createRouter(endpoints: readonly Endpoint[], deps: RouterDeps): IRouter {
  const router = express.Router();
  const lists = new FairSlots(listsAtOnce);
  for (const endpoint of endpoints) {
    router[endpoint.method](spellings(endpoint.path), async (request, response) => {
      // Names the route in metrics, also when the answer is an error.
      response.locals['route'] = `${endpoint.method.toUpperCase()} ${endpoint.path}`;
      const { reply, principal } = await answer(endpoint, request, response, deps);
      if (reply.programmed !== undefined) response.set('X-Programmed', String(reply.programmed));
      const { list } = reply;
      if (list === undefined) response.json(successEnvelope(endpoint.message, reply.data, reply.warnings));
      else
        await inSlot(lists, principal.namespace, async () =>
          sendList(response, successEnvelope(endpoint.message), await list()),
        );
    });
  }
  return router;
}

/**
 * `/paymaster` and `/paymasterParameters` are one path: the vendor serves the first, the service document spells the
 * second.
 */
export function spellings(path: string): [string, string] {
  return [path, path.replace(/^\/[^/]+/, (segment) => `${segment}Parameters`)];
}

/** Checks credentials before the body, so that an unknown caller cannot make us read, parse or store anything. */
async function answer(
  endpoint: Endpoint,
  request: Request,
  response: Response,
  { authenticator, log, bodies }: RouterDeps,
): Promise<{ readonly reply: Reply; readonly principal: Principal }> {
  const token = headerOf(request, 'authToken');
  const key = headerOf(request, 'apiKey');
  if (token === undefined || (endpoint.scope === 'paymaster' && key === undefined))
    throw credentialsRequired(endpoint.number);
  const principal = await authenticator.principal(token);
  if (!principal) throw wrong(endpoint, endpoint.wrongToken);
  const paymaster =
    endpoint.scope === 'paymaster' && key !== undefined
      ? await authenticator.paymaster(principal, key)
      : undefined;
  if (endpoint.scope === 'paymaster' && !paymaster) throw wrong(endpoint, endpoint.wrongKey);

  const body =
    endpoint.bodies === undefined ? undefined : await bodyOf(request, response, bodies, principal.namespace);
  const page = () => readPageQuery(new URL(request.url, 'http://localhost').search);
  const call: Call = { principal, gone: goneSignal(response), body, params: paramsOf(request), page };
  const { object, ...reply } = await dispatch(endpoint, paymaster ? { ...call, paymaster } : call);
  const warnings = [...bodyWarnings(endpoint, body), ...(reply.warnings ?? [])];
  if (endpoint.method !== 'get')
    log.info('dashboard write', {
      requestId: response.get('X-Request-Id'),
      operation: endpoint.operationId,
      organisation: principal.namespace,
      tokenName: principal.tokenName,
      paymaster: paymaster?.metadata.name,
      kind: object?.kind,
      object: object?.metadata.name,
      programmed: reply.programmed,
    });
  return { reply: { ...reply, warnings }, principal };
}

function dispatch(endpoint: Endpoint, call: Call | PaymasterCall): Promise<Reply> {
  if (endpoint.scope === 'organisation') return endpoint.handle(call);
  if ('paymaster' in call) return endpoint.handle(call);
  throw wrong(endpoint, endpoint.wrongKey);
}

function wrong(endpoint: Endpoint, code: Endpoint['wrongKey']): DomainError {
  return code === undefined
    ? credentialsRequired(endpoint.number)
    : new DomainError(code, 'The credentials belong to nobody');
}

/** An empty header counts as missing. */
function headerOf(request: Request, name: string): string | undefined {
  return request.get(name)?.trim() || undefined;
}

/**
 * The body counts for its organisation until it is answered. Throws RATE_LIMITED when the organisation holds too much, or
 * the body arrives too slowly.
 */
export async function bodyOf(
  request: Request,
  response: Response,
  { admit, limits }: BodyAdmission,
  namespace: string,
): Promise<unknown> {
  // The token names the caller, so the address is not needed.
  const admitted = admit(namespace, namespace);
  response.once('close', () => admitted.release());
  const error = await new Promise<unknown>((resolve) => {
    const timer = setTimeout(
      () => resolve(limited('BODY_SLOW', `The request body must arrive within ${limits.withinMs} ms.`)),
      limits.withinMs,
    );
    const settle = (outcome: unknown): void => {
      clearTimeout(timer);
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

/** Aborted when the client is no longer there, also if it left before the answer was known. */
export function goneSignal(response: Response): AbortSignal {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  if (response.closed || response.destroyed) gone.abort();
  return gone.signal;
}

function full(): DomainError {
  return limited('BODIES_FULL', 'Too many request bodies are being read: try again in a second.');
}

function limited(reason: ErrorReason, message: string): DomainError {
  return new DomainError('RATE_LIMITED', message, { reason, retryAfterSeconds: 1 });
}

const readBytes = readBody();

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error('unreadable body', { cause: error });
}

function paramsOf({ params }: Request): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(params).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
  );
}
