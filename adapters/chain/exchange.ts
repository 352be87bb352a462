import { CallReverted } from '../../core/chain/chain.js';
import { readField, parseJson } from '../../core/schema/json-value.js';
import {
  formatNodeMessage,
  isRateLimit,
  refusesOperation,
  revertData,
  type NodeError,
} from './node-errors.js';

/** The body of a request to a node, and how its answer is read. */
export type Exchange<T> = {
  readonly body: string;
  readonly read: (status: number, text: string) => Attempt<T>;
};

export type Attempt<T> = { readonly result: T } | Failure;
type Failure = {
  /** Absent: the refusal says it. */
  readonly failure?: string;
  readonly coolDown: boolean;
  readonly refusal?: NodeError;
  /** No other URL is asked. */
  readonly isFinal?: boolean;
};
type Outcome =
  { readonly result: unknown } | { readonly revert: CallReverted } | { readonly error: NodeError };

const revertible: ReadonlySet<string> = new Set(['eth_call', 'eth_estimateGas']);
/** Too many requests, or no node behind the proxy. Status 500 is how some nodes answer a batch that they do not understand. */
const busyStatuses: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** Throws CallReverted when it is read. A revert is an answer: another URL would give the same one. */
export function toSingle(method: string, params: readonly unknown[]): Exchange<unknown> {
  return {
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    read(status, text) {
      const outcome = readOutcome(method, parseJson(text));
      if (outcome === undefined) return notJsonRpc(status);
      if ('revert' in outcome) throw outcome.revert;
      return 'error' in outcome ? toFailure(status, outcome.error) : outcome;
    },
  };
}

/**
 * Results in the order of the calls, whatever the order of the answers; undefined for a call that reverted. Anything else
 * is a refusal, unless the node is only busy: nodes without batches answer with one error, with a status, or as to a
 * single call.
 */
export function toBatch(
  method: string,
  paramsOfEach: readonly (readonly unknown[])[],
): Exchange<readonly unknown[]> {
  return {
    body: JSON.stringify(paramsOfEach.map((params, id) => ({ jsonrpc: '2.0', id, method, params }))),
    read(status, text) {
      const parsed = parseJson(text);
      const answers: readonly unknown[] = Array.isArray(parsed) ? parsed : [parsed];
      const outcomes = new Map<unknown, Outcome>();
      for (const answer of answers) {
        const outcome = readOutcome(method, answer);
        if (outcome !== undefined && 'error' in outcome) return toFailure(status, outcome.error);
        if (outcome !== undefined) outcomes.set(readField(answer, 'id'), outcome);
      }
      if (busyStatuses.has(status)) return notJsonRpc(status);
      const results: unknown[] = [];
      for (const id of paramsOfEach.keys()) {
        const outcome = outcomes.get(id);
        if (outcome === undefined || answers.length !== paramsOfEach.length) return notBatch(status);
        results.push('result' in outcome ? outcome.result : undefined);
      }
      return { result: results };
    },
  };
}

function readOutcome(method: string, answer: unknown): Outcome | undefined {
  const error = readField(answer, 'error');
  if (typeof error === 'object' && error !== null) {
    const [code, message] = [readField(error, 'code'), readField(error, 'message')];
    const found = {
      code: typeof code === 'number' ? code : 0,
      message: typeof message === 'string' ? message : 'no message',
      data: readField(error, 'data'),
    };
    const data = revertible.has(method) ? revertData(found) : undefined;
    return data === undefined
      ? { error: found }
      : { revert: new CallReverted(data, formatNodeMessage(found.message)) };
  }
  const result = readField(answer, 'result');
  return result === undefined ? undefined : { result };
}

function toFailure(status: number, error: NodeError): Failure {
  const isFinal = refusesOperation(error);
  return {
    coolDown: !isFinal && (status === 429 || status >= 500 || isRateLimit(error)),
    refusal: error,
    isFinal,
  };
}

function notJsonRpc(status: number): Failure {
  return { failure: status === 200 ? 'an answer that is not JSON-RPC' : `HTTP ${status}`, coolDown: true };
}

function notBatch(status: number): Failure {
  const failure = `no answer to each call of a batch (HTTP ${status})`;
  return { failure, coolDown: false, refusal: { code: 0, message: failure, data: undefined } };
}
