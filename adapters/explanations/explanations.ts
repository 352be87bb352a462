import { Agent } from 'undici';
import { passHeader } from '../../core/config/pass.js';
import { errorCodes } from '../../core/error-codes.js';
import { asReason } from '../../core/error-reasons.js';
import { DomainError, type Problem } from '../../core/errors.js';
import { isObject, parseJson } from '../../core/schema/json-value.js';
import { given } from '../../core/units/given.js';
import { asItIs, errorText, readBody } from '../http-exchange.js';
import { withinDeadline } from '../within-deadline.js';

type ExplanationRequest = {
  readonly chainId: number;
  readonly apiKey: string;
  /** Shows that the caller may see explanations of the paymaster. */
  readonly pass: string;
  readonly userOp: unknown;
  /** The mode object. */
  readonly context: unknown;
  readonly requestId: string;
};

export type Explanations = {
  /**
   * What `pm_explainSponsorship` answers. Throws INVALID_INPUT, RATE_LIMITED, PAYLOAD_TOO_LARGE or PAYMASTER_NOT_READY as the server
   * says, and UNAVAILABLE when it does not answer, or not as a JSON-RPC server does.
   */
  ask(request: ExplanationRequest, gone: AbortSignal): Promise<object>;
  stop(): Promise<void>;
};

/** An estimate of gas, and a webhook where it is called, have less. */
const usualDeadlineMs = 15_000;
const connections = 40;
/** An explanation names every rule, of which there may be hundreds. */
const maxBytes = 4 * 1024 * 1024;

/** Asks a JSON-RPC server for explanations. The apiKey goes in a header, so that no log has it. */
export function createExplanations(urlOf: () => string, deadlineMs = usualDeadlineMs): Explanations {
  // The signal of each call is its only deadline.
  const agent = new Agent({ connections, allowH2: false, headersTimeout: 0, bodyTimeout: 0 });

  return {
    async ask({ chainId, apiKey, pass, userOp, context, requestId }, gone) {
      const url = urlOf();
      const body = JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'pm_explainSponsorship',
        params: [userOp, context],
      });
      const headers = {
        'content-type': 'application/json',
        ...asItIs,
        'x-request-id': requestId,
        apikey: apiKey,
        [passHeader]: pass,
      };
      const { origin, pathname } = new URL(url);
      const path = `${pathname.replace(/\/$/, '')}/api/v1/${chainId}`;
      const signal = AbortSignal.any([gone, AbortSignal.timeout(deadlineMs)]);
      let answer: { readonly status: number; readonly text: string };
      try {
        const asked = agent.request({ origin, path, method: 'POST', headers, body, signal });
        const { statusCode: status, headers: given, body: answered } = await withinDeadline(signal, asked);
        answer = { status, text: await withinDeadline(signal, readBody(answered, maxBytes, given)) };
      } catch (error) {
        // Its cause may hold the request, and so the key.
        throw explainUnavailable(
          signal.aborted ? 'no answer in time' : (errorText(error, 'code') ?? 'no connection'),
        );
      }
      return parseExplanation(answer);
    },
    stop: () => agent.destroy(),
  };
}

function parseExplanation({ status, text }: { readonly status: number; readonly text: string }): object {
  const answer = parseJson(text);
  const { result, error } = isObject(answer) ? answer : {};
  if (isObject(result)) return result;
  throw isObject(error)
    ? toDomainError(error, status)
    : explainUnavailable(`HTTP ${status} without a JSON-RPC answer`);
}

const { INVALID_INPUT, RATE_LIMITED, PAYMASTER_NOT_READY, PAYLOAD_TOO_LARGE } = errorCodes;

function toDomainError(error: Readonly<Record<string, unknown>>, status: number): DomainError {
  const { code } = error;
  const message = inBody(String(error['message']));
  const data = isObject(error['data']) ? error['data'] : {};
  const seconds = data['retryAfterSeconds'];
  const retry = given({ retryAfterSeconds: typeof seconds === 'number' ? seconds : undefined });
  if (code === INVALID_INPUT.rpc.code)
    return new DomainError('INVALID_INPUT', message, { problems: parseProblems(data['problems']) });
  if (code === RATE_LIMITED.rpc.code) return new DomainError('RATE_LIMITED', message, retry);
  if (code === PAYMASTER_NOT_READY.rpc.code)
    return new DomainError('PAYMASTER_NOT_READY', message, {
      ...retry,
      reason: asReason(String(data['reason'])),
    });
  if (status === PAYLOAD_TOO_LARGE.rpc.status) return new DomainError('PAYLOAD_TOO_LARGE', message);
  // Also when it does not take our key or pass: it is behind, or has other keys.
  return explainUnavailable(`${String(data['reason'] ?? code)}: ${message}`, retry);
}

function explainUnavailable(why: string, retry: { readonly retryAfterSeconds?: number } = {}): DomainError {
  const details = { reason: 'RPC_UNAVAILABLE', retryAfterSeconds: 5, ...retry } as const;
  return new DomainError('UNAVAILABLE', `the JSON-RPC server does not explain: ${why}`, details);
}

function parseProblems(problems: unknown): readonly Problem[] {
  return (Array.isArray(problems) ? problems.filter(isObject) : []).map(({ field, expected, value }) => ({
    field: inBody(String(field)),
    expected: String(expected),
    ...(typeof value === 'string' && { value }),
  }));
}

/** The server names its parameters, the caller has sent a body. */
function inBody(text: string): string {
  return text.replaceAll('params[0]', 'userOp').replaceAll('params[1]', 'context');
}
