import type { IncomingMessage, ServerResponse } from 'node:http';

import { tighterLimits } from '../../core/config/caps.js';
import { DomainError, isDomainError, quote } from '../../core/errors.js';
import { after, isLater, recover, type Later } from '../../core/pending.js';
import { hashCredential } from '../../core/config/api-key.js';
import { passHeader } from '../../core/config/pass.js';
import type { ConfigView } from '../view/config-view.js';
import type { ServedPaymaster } from '../view/served-paymaster.js';
import type { AdmittedBody, BodyAdmission } from '../http/body-admission.js';
import { isRead, readBody, bodyText, type ReadBody, type UnreadBody } from './body.js';
import type { CallAnswer, CallRunner } from './call-runner.js';
import { createCallTurns, type CallTurns } from './call-turns.js';
import { invalidRequest, maxBatchCalls, parseCall, type RpcCall } from './envelope.js';
import { writeAnswer, writePreflight, type AllowedOrigin, type HttpAnswer } from './http-answer.js';
import type { RpcContext } from './method.js';
import { parseRpcPath } from './path.js';
import { callerAddress, clientAddress, single } from '../http/client-address.js';
import type { RateLimiter } from '../http/rate-limit.js';
import { cleanRequestId, type RequestIds } from '../http/request-id.js';

type RpcRouterDeps = {
  readonly view: Pick<ConfigView, 'find' | 'load' | 'chain'>;
  readonly calls: CallRunner;
  readonly rateLimiter: RateLimiter;
  readonly requestIds: RequestIds;
  readonly bodies: RequestBodies;
  /** Number of proxies in front that each append to X-Forwarded-For; 0 uses the peer's own address. */
  readonly trustedProxies: number;
};

/** Separate bounds for the bodies held at once: strangers must not use up the memory that callers with a key need. */
export type RequestBodies = { readonly ofKeys: BodyAdmission; readonly ofStrangers: BodyAdmission };

/** Answers one HTTP request to the JSON-RPC edge. Never throws; every request is answered unless its client has disconnected. */
type RpcRouter = (request: IncomingMessage, response: ServerResponse) => void;

export function createRpcRouter(given: RpcRouterDeps): RpcRouter {
  const deps = { ...given, turns: createCallTurns() };
  const hashes = createKeyHashes();
  return (request, response) => {
    if (request.method === 'OPTIONS')
      return writePreflight(response, single(request.headers['access-control-request-headers']));
    const offered = single(request.headers['x-request-id']);
    const requestId = deps.requestIds.next(offered);
    const callerRequestId = cleanRequestId(offered);
    if (request.method !== 'POST') {
      const { body } = deps.calls.fail(
        { id: 'null' },
        invalidRequest('The HTTP method must be POST.'),
        requestId,
      );
      return writeAnswer(response, { status: 405, body }, requestId);
    }
    const identified = identify(deps, hashes, request);
    if (identified instanceof Promise) void identified.then(serve);
    else serve(identified);

    function serve(caller: Caller): void {
      // A stranger's body only decides the form of the answer, so a small pool is enough for all strangers.
      const { limits, admit } = isDomainError(caller) ? deps.bodies.ofStrangers : deps.bodies.ofKeys;
      const client = clientAddress(request, deps.trustedProxies);
      const admitted = admit(isDomainError(caller) ? client : caller.paymasterId, client);
      readBody(request, admitted, limits, (body) => {
        if (body === undefined) admitted.release();
        else respond({ request, response, requestId, callerRequestId, caller }, body, admitted);
      });
    }

    function respond(asked: CallerRequest, body: ReadBody | UnreadBody, admitted: AdmittedBody): void {
      const origin = chooseOrigin(asked);
      const release = (): void => admitted.release();
      const written = recover(
        () => after(answer(deps, asked, body), (it) => writeAnswer(response, it, requestId, origin)),
        // Failures inside become answers. Anything that still throws is a bug, which must not leave a client waiting.
        (error) =>
          writeAnswer(response, deps.calls.fail({ id: 'null' }, error, requestId), requestId, origin),
      );
      if (isLater(written)) written.then(release, release);
      else release();
    }
  };
}

/** The paymaster of the key, or the error that says why no paymaster was found. */
type Caller = ServedPaymaster | DomainError;
type CallerRequest = {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  readonly callerRequestId: string | undefined;
  readonly caller: Caller;
};

type Answering = Later<HttpAnswer>;
type AnswerDeps = RpcRouterDeps & { readonly turns: CallTurns };

/** Reading a longer text takes so long that it waits for its turn. */
const longText = 16_384;

function answer(deps: AnswerDeps, asked: CallerRequest, body: ReadBody | UnreadBody): Answering {
  const { calls, turns } = deps;
  const { requestId, caller } = asked;
  if (!isRead(body)) {
    const error = isDomainError(caller) ? caller : body.error;
    return { ...calls.fail({ id: 'null' }, error, requestId), close: body.close };
  }
  const parsed =
    typeof body === 'string' && body.length < longText
      ? parse(body)
      : turns.run(turnShare(caller), 'ordinary', () => parse(body));
  return after<unknown, HttpAnswer>(parsed, answerParsed);

  function answerParsed(value: unknown): Answering {
    if (isDomainError(value)) return calls.fail({ id: 'null' }, value, requestId);
    return Array.isArray(value) ? answerBatch(deps, asked, value) : answerCall(deps, asked, value);
  }
}

function parse(body: ReadBody): unknown {
  try {
    return JSON.parse(bodyText(body));
  } catch {
    // The parser's message quotes the body, which may contain secrets.
    return new DomainError('RPC_PARSE_ERROR', 'Parse error: the body is not JSON.');
  }
}

/** Whose turn a call takes; strangers, whose calls all get an error, share one. */
function turnShare(caller: Caller): string {
  return isDomainError(caller) ? '' : caller.paymasterId;
}

/** Always HTTP 200: each answer in the batch has its own outcome. */
async function answerBatch(
  deps: AnswerDeps,
  asked: CallerRequest,
  batch: readonly unknown[],
): Promise<HttpAnswer> {
  if (batch.length === 0 || batch.length > maxBatchCalls) {
    const error = invalidRequest(`A batch must hold 1 to ${maxBatchCalls} calls, got ${batch.length}.`);
    return deps.calls.fail({ id: 'null' }, error, asked.requestId);
  }
  const answers = await Promise.all(batch.map(async (call) => answerCall(deps, asked, call)));
  return { status: 200, body: `[${answers.map(({ body }) => body).join(',')}]` };
}

function answerCall(
  deps: AnswerDeps,
  { request, response, requestId, callerRequestId, caller }: CallerRequest,
  value: unknown,
): Later<CallAnswer> {
  const call = parseCall(value);
  if ('error' in call) return deps.calls.reject(call, requestId);
  if (isDomainError(caller)) return deps.calls.fail(call satisfies RpcCall, caller, requestId);
  const { turns, calls } = deps;
  try {
    limitRate(deps, request, caller);
    requireOrigin(request, caller);
  } catch (error) {
    return calls.fail(call satisfies RpcCall, error, requestId);
  }
  const context: RpcContext = {
    requestId,
    callerRequestId,
    method: call.method,
    paymaster: caller,
    credential: readCredential(request),
    pass: single(request.headers[passHeader]),
  };
  return turns.run(caller.paymasterId, calls.kindOf(call.method), () =>
    // No promise to pay is made for a caller who has left while his call waited.
    response.destroyed ? calls.fail(call, callerIsGone(), requestId) : calls.run(call, context),
  );
}

/** Nobody reads it, but it is counted. */
function callerIsGone(): DomainError {
  return invalidRequest('The caller closed the connection before it was the turn of this call.');
}

/** Only browsers send an origin; `null` is that of a page without one, e.g. a file. */
function requireOrigin({ headers }: IncomingMessage, { allowedOrigins }: ServedPaymaster): void {
  const { origin } = headers;
  if (origin === undefined || allowedOrigins === undefined || allowedOrigins.includes(origin)) return;
  throw new DomainError('ORIGIN_NOT_ALLOWED', `Pages of ${quote(origin)} may not ask this paymaster.`);
}

function chooseOrigin({ request: { headers }, caller }: CallerRequest): AllowedOrigin {
  if (isDomainError(caller) || caller.allowedOrigins === undefined) return 'any';
  const { origin } = headers;
  return origin !== undefined && caller.allowedOrigins.includes(origin) ? { page: origin } : 'none';
}

function readCredential(request: IncomingMessage): string | undefined {
  const token = single(request.headers['authtoken']);
  return token ? hashCredential(token) : undefined;
}

/**
 * The paymaster of the key in the address or in the header `apiKey`, found before the body is read. A promise only if
 * the store has to be asked. Errors such as KEY_UNKNOWN and CHAIN_MISMATCH are returned, since each call answers them.
 */
function identify(
  deps: RpcRouterDeps,
  hashes: KeyHashes,
  request: IncomingMessage,
): Caller | Promise<Caller> {
  const path = parseRpcPath(request.url ?? '');
  if (path === undefined)
    return invalidRequest('The address must be /api/v1/{chainId}/{apiKey}, with a decimal chainId.');
  const apiKey = path.apiKey ?? single(request.headers['apikey']);
  if (apiKey === undefined || apiKey === '')
    return new DomainError('KEY_UNKNOWN', 'An API key is required: in the address or in the header apiKey.', {
      reason: 'KEY_REQUIRED',
    });
  const sha256 = hashes.of(apiKey);
  const paymaster = deps.view.find(sha256);
  if (paymaster !== undefined) {
    hashes.keep(apiKey, sha256);
    return checkCaller(deps, request, paymaster, path.chainId);
  }
  return deps.view.load(sha256, clientAddress(request, deps.trustedProxies)).then(
    (loaded) =>
      loaded === undefined
        ? new DomainError('KEY_UNKNOWN', 'This API key is not known.')
        : checkCaller(deps, request, loaded, path.chainId),
    (error: unknown) =>
      isDomainError(error)
        ? error
        : new DomainError('INTERNAL', 'The API key could not be looked up.', { cause: error }),
  );
}

/** Hashes of keys that were found, so that a key which is used again and again is hashed once. */
type KeyHashes = { of(apiKey: string): string; keep(apiKey: string, sha256: string): void };

/** Some 200 bytes each. */
const maxHashes = 10_000;

function createKeyHashes(): KeyHashes {
  const known = new Map<string, string>();
  return {
    of: (apiKey) => known.get(apiKey) ?? hashCredential(apiKey),
    keep: (apiKey, sha256) => {
      if (known.has(apiKey)) return;
      if (known.size >= maxHashes) known.clear();
      known.set(apiKey, sha256);
    },
  };
}

function checkCaller(
  { trustedProxies }: RpcRouterDeps,
  request: IncomingMessage,
  paymaster: ServedPaymaster,
  chainId: number,
): Caller {
  const { key } = paymaster;
  if (key?.admits?.(callerAddress(request, trustedProxies)) === false)
    return new DomainError('NETWORK_NOT_ALLOWED', `The key "${key.name}" may not be used from this network.`);
  if (paymaster.chainId === chainId) return paymaster;
  return new DomainError(
    'CHAIN_MISMATCH',
    `This API key belongs to chain ${paymaster.chainId}, the address says ${chainId}.`,
  );
}

function limitRate(
  { view, rateLimiter, trustedProxies }: RpcRouterDeps,
  request: IncomingMessage,
  { paymasterId, chainId, rateLimit: own, key }: ServedPaymaster,
): void {
  const { perKey, perClient } = tighterLimits(own, view.chain(chainId)?.rateLimit) ?? {};
  // The client's own limit comes first: a client that exceeds it must not use up the key's limit for everybody else.
  let wait = 0;
  if (perClient !== undefined)
    wait = rateLimiter.take(`${paymasterId} ${clientAddress(request, trustedProxies)}`, perClient);
  // And that of a key with a name before that of all keys, for the same reason.
  if (wait === 0 && key?.rateLimit !== undefined)
    wait = rateLimiter.take(`key ${paymasterId} ${key.name}`, key.rateLimit);
  if (wait === 0 && perKey !== undefined) wait = rateLimiter.take(paymasterId, perKey);
  if (wait > 0)
    throw new DomainError('RATE_LIMITED', `Too many requests: try again in ${wait} s.`, {
      reason: 'RATE_LIMIT',
      retryAfterSeconds: wait,
    });
}
