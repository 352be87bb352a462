import { errorCodes, rpcRows } from '../../core/error-codes.js';
import { DomainError, formatProblem, isDomainError, type Problem, quote } from '../../core/errors.js';
import { publishedError } from '../../core/published-error.js';
import { isObject } from '../../core/schema/json-value.js';
import { given } from '../../core/units/given.js';

/** One call of a request body, with a valid envelope. `id` is JSON text, so that it is echoed with its type. */
export type RpcCall = { readonly id: string; readonly method: string; readonly params: readonly unknown[] };

/** A call with an invalid envelope; `id` is echoed if it could be read, else `null`. */
export type BadCall = { readonly id: string; readonly error: DomainError };

/** A longer batch is refused as a whole, since all its answers are held until the last one is known. */
export const maxBatchCalls = 100;

/** Reads one member of a batch, or the whole body. The service document's field table says `jsonrpc` "2.0.0". */
export function parseCall(value: unknown): RpcCall | BadCall {
  if (!isObject(value))
    return bad('null', [{ field: 'request', expected: 'a JSON object', value: quote(value) }]);
  const id = readId(value['id']);
  const { jsonrpc, method } = value;
  const params = readParams(value['params']);
  if (id !== undefined && isVersion(jsonrpc) && typeof method === 'string' && Array.isArray(params)) {
    return { id, method, params };
  }
  const problems: Problem[] = [];
  if (!isVersion(jsonrpc)) problems.push({ field: 'jsonrpc', expected: '"2.0"', value: quote(jsonrpc) });
  if (id === undefined)
    problems.push({ field: 'id', expected: 'a string or a safe number', value: quote(value['id']) });
  if (typeof method !== 'string')
    problems.push({ field: 'method', expected: 'a string', value: quote(method) });
  if (!Array.isArray(params)) {
    // JSON-RPC has a separate error for wrong params in a valid envelope.
    const problem = { field: 'params', expected: 'an array', value: quote(params) };
    if (problems.length === 0) return { id: id ?? 'null', error: wrongParams(problem) };
    problems.push(problem);
  }
  return bad(id ?? 'null', problems);
}

/** Clients write the version in several ways; there is one. */
function isVersion(jsonrpc: unknown): boolean {
  return jsonrpc === '2.0' || jsonrpc === '2.0.0' || jsonrpc === '2' || jsonrpc === 2;
}

/** Methods without parameters are called with none, `null` or an object without members; others then say what they lack. */
function readParams(params: unknown): unknown {
  const isNone =
    params === undefined || params === null || (isObject(params) && Object.keys(params).length === 0);
  return isNone ? [] : params;
}

/** Body of an answer with a result; both arguments are JSON text. */
export function renderResult(id: string, result: string): string {
  return `{"jsonrpc":"2.0","id":${id},"result":${result}}`;
}

/** Body of an answer with an error; both arguments are JSON text. */
export function renderFailure(id: string, error: string): string {
  return `{"jsonrpc":"2.0","id":${id},"error":${error}}`;
}

export function invalidRequest(message: string): DomainError {
  return new DomainError('RPC_INVALID_REQUEST', message);
}

function bad(id: string, problems: readonly Problem[]): BadCall {
  const message = `Invalid request: ${problems.map(formatProblem).join('; ')}`;
  return { id, error: new DomainError('RPC_INVALID_REQUEST', message, { problems }) };
}

function wrongParams(problem: Problem): DomainError {
  return new DomainError('INVALID_INPUT', formatProblem(problem), { problems: [problem] });
}

/** An integer beyond 2^53 would be echoed as another number, so it is refused. */
function readId(id: unknown): string | undefined {
  if (typeof id === 'number') {
    if (!Number.isFinite(id) || (Number.isInteger(id) && !Number.isSafeInteger(id))) return undefined;
    return String(id);
  }
  return typeof id === 'string' ? JSON.stringify(id) : undefined;
}

const internal = errorCodes.INTERNAL.rpc;

/** One failed call, ready to be written: `body` is the JSON text of the `error` member. */
type RenderedError = {
  readonly body: string;
  readonly status: number;
  readonly reason: string;
  readonly retryAfterSeconds?: number;
  /** True for our own faults, which are logged in full; their message is not sent to the client. */
  readonly fault: boolean;
};

/** Renders what a handler threw. An error that is not a DomainError, or whose code this edge does not publish, does not reveal its cause. */
export function renderError(error: unknown, requestId: string, suffix = ''): RenderedError {
  const row = isDomainError(error) && error.code !== 'INTERNAL' ? rpcRows.get(error.code) : undefined;
  if (!isDomainError(error) || row === undefined) return renderFault(requestId);
  const { reason, message, remedy } = publishedError(error);
  const text = message + suffix;
  const { bundler } = error.details;
  const data = bundler?.data ?? { reason, requestId, retryable: row.retryable, ...extras(error, remedy) };
  const { retryAfterSeconds } = error.details;
  // Most clients show their users the message alone.
  const shown = remedy === undefined ? text : `${text}${text.endsWith('.') ? '' : '.'} ${remedy}`;
  return {
    body: JSON.stringify({ code: bundler?.code ?? row.code, message: shown, data }),
    status: row.status,
    reason,
    fault: false,
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  };
}

/**
 * A refusal for wallets' libraries, which show their users the message and nothing else of an error: so the message
 * also names the request, by which people on call find its log line.
 */
export function renderRefusal(error: DomainError, requestId: string): RenderedError {
  return renderError(error, requestId, ` Request ${requestId}.`);
}

function renderFault(requestId: string): RenderedError {
  const data = { reason: 'INTERNAL', requestId, retryable: internal.retryable };
  const message = 'Internal error. Quote the requestId to the operator of this service.';
  return {
    body: JSON.stringify({ code: internal.code, message, data }),
    status: internal.status,
    reason: 'INTERNAL',
    fault: true,
  };
}

function extras({ details }: DomainError, remedy: string | undefined): object {
  return {
    ...given({
      problems: details.problems,
      webhookReason: details.webhookReason,
      call: details.call,
      otherwise: details.otherwise,
      retry: details.retry,
      remedy,
    }),
    ...given({ retryAfterSeconds: details.retryAfterSeconds }),
  };
}
