import type { IncomingMessage, ServerResponse } from 'node:http';

import { tighterLimits } from '../../core/config/rate-limits.js';
import { DomainError, isDomainError } from '../../core/errors.js';
import { hashCredential, type ConfigView } from '../view/config-view.js';
import type { ServedPaymaster } from '../view/served-paymaster.js';
import { readBody } from './body.js';
import type { CallAnswer, CallRunner } from './call-runner.js';
import { invalidRequest, maxBatchCalls, parseCall, type RpcCall } from './envelope.js';
import { writeAnswer, writePreflight, type HttpAnswer } from './http-answer.js';
import type { RpcContext } from './method.js';
import { parseRpcPath } from './path.js';
import type { RateLimiter } from './rate-limit.js';
import type { RequestIds } from './request-id.js';

export type RpcRouterDeps = {
  readonly view: Pick<ConfigView, 'find' | 'load' | 'chain'>;
  readonly calls: CallRunner;
  readonly rateLimiter: RateLimiter;
  readonly requestIds: RequestIds;
  /** Proxies in front that each append to X-Forwarded-For; 0 takes the peer's own address. */
  readonly trustedProxies: number;
};

/** Answers one HTTP request to the JSON-RPC edge. Never throws; every request is answered or its client is gone. */
export type RpcRouter = (request: IncomingMessage, response: ServerResponse) => void;

export function createRpcRouter(deps: RpcRouterDeps): RpcRouter {
  return (request, response) => {
    if (request.method === 'OPTIONS')
      return writePreflight(response, single(request.headers['access-control-request-headers']));
    const requestId = deps.requestIds.next(single(request.headers['x-request-id']));
    if (request.method !== 'POST') {
      const { body } = deps.calls.fail(
        { id: 'null' },
        invalidRequest('The HTTP method must be POST.'),
        requestId,
      );
      return writeAnswer(response, { status: 405, body, requestId });
    }
    readBody(request, (body) => {
      if (body === undefined) return;
      // Every failure has become an answer inside; what is left is a bug, which must not leave a client waiting.
      answer(deps, request, requestId, body).then(
        (answered) => writeAnswer(response, answered),
        (error: unknown) => {
          const failed = deps.calls.fail({ id: 'null' }, error, requestId);
          writeAnswer(response, { ...failed, requestId });
        },
      );
    });
  };
}

async function answer(
  deps: RpcRouterDeps,
  request: IncomingMessage,
  requestId: string,
  body: string | DomainError,
): Promise<HttpAnswer> {
  const { calls } = deps;
  if (isDomainError(body)) return { ...calls.fail({ id: 'null' }, body, requestId), requestId };
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    // The parser's message quotes the body, which may hold what nobody should see again.
    const error = new DomainError('RPC_PARSE_ERROR', 'Parse error: the body is not JSON.');
    return { ...calls.fail({ id: 'null' }, error, requestId), requestId };
  }
  if (Array.isArray(parsed)) return answerBatch(deps, request, requestId, parsed);
  return { ...(await answerCall(deps, request, requestId, parsed)), requestId };
}

/** HTTP 200 whatever the calls come to: each answer says for itself. */
async function answerBatch(
  deps: RpcRouterDeps,
  request: IncomingMessage,
  requestId: string,
  batch: readonly unknown[],
): Promise<HttpAnswer> {
  if (batch.length === 0 || batch.length > maxBatchCalls) {
    const error = invalidRequest(`A batch must hold 1 to ${maxBatchCalls} calls, got ${batch.length}.`);
    return { ...deps.calls.fail({ id: 'null' }, error, requestId), requestId };
  }
  const identify = once(() => authenticate(deps, request));
  const answers = await Promise.all(
    batch.map((call) => answerCall(deps, request, requestId, call, identify)),
  );
  return { status: 200, body: `[${answers.map(({ body }) => body).join(',')}]`, requestId };
}

async function answerCall(
  deps: RpcRouterDeps,
  request: IncomingMessage,
  requestId: string,
  value: unknown,
  identify: () => Identified = () => authenticate(deps, request),
): Promise<CallAnswer> {
  const call = parseCall(value);
  if ('error' in call) return deps.calls.reject(call, requestId);
  let context: RpcContext;
  try {
    const found = identify();
    const paymaster = found instanceof Promise ? await found : found;
    limitRate(deps, request, paymaster);
    context = { requestId, paymaster, authToken: single(request.headers['authtoken']) };
  } catch (error) {
    return deps.calls.fail(call satisfies RpcCall, error, requestId);
  }
  return deps.calls.run(call, context);
}

/** Awaited only where the store has to be asked. */
type Identified = ServedPaymaster | Promise<ServedPaymaster>;

/** Calls of a batch share one key, and so one look at it; what it throws is every call's to answer. */
function once(identify: () => Identified): () => Identified {
  let identified: Identified | undefined;
  return () => (identified ??= identify());
}

/** The paymaster that the key in the address or in the header `apiKey` opens. Throws KEY_UNKNOWN, CHAIN_MISMATCH and more. */
function authenticate({ view }: RpcRouterDeps, request: IncomingMessage): Identified {
  const path = parseRpcPath(request.url ?? '');
  if (path === undefined)
    throw invalidRequest('The address must be /api/v1/{chainId}/{apiKey}, with a decimal chainId.');
  const apiKey = path.apiKey ?? single(request.headers['apikey']);
  if (apiKey === undefined || apiKey === '')
    throw new DomainError('KEY_UNKNOWN', 'An API key is required: in the address or in the header apiKey.', {
      reason: 'KEY_REQUIRED',
    });
  const sha256 = hashCredential(apiKey);
  const paymaster = view.find(sha256);
  if (paymaster !== undefined) return checkChain(paymaster, path.chainId);
  return view.load(sha256).then((loaded) => {
    if (loaded === undefined) throw new DomainError('KEY_UNKNOWN', 'This API key is not known.');
    return checkChain(loaded, path.chainId);
  });
}

function checkChain(paymaster: ServedPaymaster, chainId: number): ServedPaymaster {
  if (paymaster.chainId === chainId) return paymaster;
  throw new DomainError(
    'CHAIN_MISMATCH',
    `This API key belongs to chain ${paymaster.chainId}, the address says ${chainId}.`,
  );
}

function limitRate(
  { view, rateLimiter, trustedProxies }: RpcRouterDeps,
  request: IncomingMessage,
  { paymasterId, chainId, rateLimit: own }: ServedPaymaster,
): void {
  const rateLimit = tighterLimits(own, view.chain(chainId)?.rateLimit);
  if (rateLimit === undefined) return;
  const { perKey, perClient } = rateLimit;
  // The client's own limit first: who is beyond it must not use up what the key has for everybody else.
  const client = `${paymasterId} ${clientAddress(request, trustedProxies)}`;
  let wait = perClient === undefined ? 0 : rateLimiter.take(client, perClient);
  if (wait === 0 && perKey !== undefined) wait = rateLimiter.take(paymasterId, perKey);
  if (wait > 0)
    throw new DomainError('RATE_LIMITED', `Too many requests: try again in ${wait} s.`, {
      reason: 'RATE_LIMIT',
      retryAfterSeconds: wait,
    });
}

/** Each trusted proxy has appended the address it saw, so the client is that many entries from the end. */
function clientAddress(request: IncomingMessage, trustedProxies: number): string {
  const peer = request.socket.remoteAddress ?? '';
  if (trustedProxies === 0) return peer;
  const forwarded = single(request.headers['x-forwarded-for'])?.split(',') ?? [];
  return forwarded.at(-trustedProxies)?.trim() ?? peer;
}

function single(header: string | readonly string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : header?.[0];
}
