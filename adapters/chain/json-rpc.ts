import { Pool } from 'undici';
import type { Ambient } from '../../core/ambient.js';
import { CallReverted } from '../../core/chain/chain.js';
import { DomainError } from '../../core/errors.js';
import { readField } from '../../core/schema/json-value.js';
import { asItIs, BodyTooLarge, errorText, readBody } from '../http-exchange.js';
import { withinDeadline } from '../within-deadline.js';
import { type Attempt, toBatch, type Exchange, toSingle } from './exchange.js';
import { formatNodeMessage, RpcError, withoutUrl } from './node-errors.js';
import type { Target, UrlSource } from './url-source.js';

/** Sends JSON-RPC over the endpoint's URLs. */
export type Sender = {
  /** One call; resolves to its `result`. */
  send(method: string, params: readonly unknown[]): Promise<unknown>;
  /** Many calls of one method in one request; resolves to their results in order, undefined for one that reverted. */
  sendBatch(method: string, paramsOfEach: readonly (readonly unknown[])[]): Promise<readonly unknown[]>;
};

export type RpcDeps = Ambient & {
  /** Deadline of a whole call, over all URLs that it tries. */
  readonly timeoutMs: number;
};

/**
 * A URL that failed is tried last for this long. Otherwise a dead first URL would cost every call its share of time.
 */
const coolDownMs = 10_000;
/** Connections to one origin: for the process itself, for simulations that callers ask for, and for what they send to bundlers. */
const connections = { process: 16, simulations: 128, bundlers: 64 } as const;
type Lane = keyof typeof connections;
const mebibyte = 1024 * 1024;
/** The largest honest answer is that of `eth_getLogs` for a busy range. */
const maxResponseBytes = 32 * mebibyte;
/** Anyone may mine our operation, and decides how large the transaction is. We read nothing from more than one MiB of input. */
const maxTransactionBytes = 4 * mebibyte;
/** Callers get them whole. */
const maxBundlerBytes = mebibyte;

/** One pool per origin and lane, shared by all chains of the process. The cool-downs are shared as well. */
export function createRpc({ log, clock, metrics, timeoutMs }: RpcDeps) {
  const pools = new Map<string, Pool>();
  const coolUntil = new Map<string, number>();
  const requests = metrics.counter({
    name: 'rpc_client_requests_total',
    help: 'Calls to chain nodes and bundlers, by method and outcome.',
    labels: ['method', 'outcome'],
  });

  function sender(chainId: number, urls: UrlSource, lane: Lane = 'process'): Sender {
    return {
      send: (method, params) =>
        countCall(
          { chainId, lane, method, exchange: toSingle(method, params), block: findBlock(method, params) },
          urls,
        ),
      sendBatch: (method, paramsOfEach) =>
        countCall({ chainId, lane, method, exchange: toBatch(method, paramsOfEach) }, urls),
    };
  }

  async function countCall<T>(call: Call<T>, urls: UrlSource): Promise<T> {
    let outcome = 'unavailable';
    try {
      const result = await failover(call, await urls());
      outcome = 'ok';
      return result;
    } catch (error) {
      if (error instanceof CallReverted) outcome = 'reverted';
      if (error instanceof DomainError && error.cause instanceof RpcError) outcome = 'refused';
      throw error;
    } finally {
      requests.with({ method: call.method, outcome }).inc();
    }
  }

  async function failover<T>(call: Call<T>, targets: readonly Target[]): Promise<T> {
    const { chainId, lane, method } = call;
    const deadline = performance.now() + timeoutMs;
    const ordered = byHealth(lane, targets);
    const ownBlock = targets.length > 1 ? call.block : undefined;
    const failures: string[] = [];
    let refusal: RpcError | undefined;
    for (const [index, target] of ordered.entries()) {
      // Each URL gets an even share of the remaining time: a hanging one must leave time for the next.
      const share = (deadline - performance.now()) / (ordered.length - index);
      const answer =
        ownBlock === undefined
          ? await attempt(call, target, share)
          : await attemptWith(ownBlock, call, target, share);
      if ('result' in answer) {
        coolUntil.delete(inLane(lane, target.origin));
        return answer.result;
      }
      if (answer.coolDown) coolUntil.set(inLane(lane, target.origin), clock.now() + coolDownMs);
      const refused = answer.refusal && withoutUrl(answer.refusal, target.secrets);
      refusal = refused ?? refusal;
      const failure =
        answer.failure ?? `error ${refused?.code} (${formatNodeMessage(refused?.message ?? '')})`;
      log.debug('chain call failed', { chainId, host: target.host, method, failure });
      failures.push(`${target.host}: ${failure}`);
      if (answer.isFinal === true) break;
    }
    throw new DomainError('UNAVAILABLE', `chain ${chainId}: ${method} failed at ${failures.join('; ')}`, {
      reason: 'CHAIN_UNAVAILABLE',
      ...(refusal === undefined ? {} : { cause: refusal }),
    });
  }

  function byHealth(lane: Lane, targets: readonly Target[]): readonly Target[] {
    if (targets.length < 2) return targets;
    const now = clock.now();
    const isCooling = ({ origin }: Target) => (coolUntil.get(inLane(lane, origin)) ?? 0) > now;
    return [...targets.filter((target) => !isCooling(target)), ...targets.filter(isCooling)];
  }

  /**
   * Asks a node that has the block. A node that lags finds no logs in blocks that it does not have, and reports no
   * error. We know from another URL that these blocks exist.
   */
  async function attemptWith<T>(
    { method, block }: BlockRequest,
    call: Call<T>,
    target: Target,
    shareMs: number,
  ): Promise<Attempt<T>> {
    const deadline = performance.now() + shareMs;
    const found = await attempt({ ...call, exchange: toSingle(method, [block, false]) }, target, shareMs);
    if (!('result' in found)) return found;
    if (found.result === null) return { failure: `block ${block} is not there yet`, coolDown: false };
    return attempt(call, target, deadline - performance.now());
  }

  async function attempt<T>(call: Call<T>, target: Target, shareMs: number): Promise<Attempt<T>> {
    const { lane, method, exchange } = call;
    const maxBytes = maxAnswerBytes(lane, method);
    let status: number;
    let text: string;
    try {
      const signal = AbortSignal.timeout(Math.max(1, Math.floor(shareMs)));
      const asked = ensurePool(lane, target.origin).request({
        method: 'POST',
        path: target.path,
        headers: {
          'content-type': 'application/json',
          ...asItIs,
          ...(target.authorization === undefined ? {} : { authorization: target.authorization }),
        },
        body: exchange.body,
        signal,
      });
      const response = await withinDeadline(signal, asked);
      status = response.statusCode;
      text = await readBody(response.body, maxBytes, response.headers);
    } catch (error) {
      // No fault of the node's: the next call may ask it first.
      if (error instanceof BodyTooLarge)
        return { failure: `an answer above ${maxBytes} bytes`, coolDown: false };
      return { failure: transportFailure(error), coolDown: true };
    }
    return exchange.read(status, text);
  }

  function ensurePool(lane: Lane, origin: string): Pool {
    const existing = pools.get(inLane(lane, origin));
    if (existing !== undefined) return existing;
    const pool = new Pool(origin, {
      connections: connections[lane],
      // Over HTTP/2 all calls would share one connection, and one that stalls would stall them all.
      allowH2: false,
      connectTimeout: timeoutMs,
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
    });
    pools.set(inLane(lane, origin), pool);
    return pool;
  }

  return {
    sender,
    /** Waits for calls in flight (each has a deadline), then closes every connection. */
    async stop(): Promise<void> {
      await Promise.all([...pools.values()].map((pool) => pool.close()));
      pools.clear();
    },
  };
}

type Call<T> = {
  readonly chainId: number;
  readonly lane: Lane;
  readonly method: string;
  readonly exchange: Exchange<T>;
  /** The last block that the answer covers, for a method that a node without this block would answer all the same. */
  readonly block?: BlockRequest | undefined;
};

function inLane(lane: Lane, origin: string): string {
  return `${lane} ${origin}`;
}

function maxAnswerBytes(lane: Lane, method: string): number {
  if (lane === 'bundlers') return maxBundlerBytes;
  return method === 'eth_getTransactionByHash' ? maxTransactionBytes : maxResponseBytes;
}

type BlockRequest = { readonly method: string; readonly block: string };

function findBlock(method: string, [filter]: readonly unknown[]): BlockRequest | undefined {
  if (method !== 'eth_getLogs') return undefined;
  const [hash, number] = [readField(filter, 'blockHash'), readField(filter, 'toBlock')];
  if (typeof hash === 'string') return { method: 'eth_getBlockByHash', block: hash };
  return typeof number === 'string' ? { method: 'eth_getBlockByNumber', block: number } : undefined;
}

/** Error codes only: messages of the HTTP client may quote the URL. */
function transportFailure(error: unknown): string {
  if (errorText(error, 'name') === 'TimeoutError') return 'no answer in time';
  const code = errorText(error, 'code') ?? '';
  switch (code) {
    case 'UND_ERR_HEADERS_TIMEOUT':
    case 'UND_ERR_BODY_TIMEOUT':
    case 'UND_ERR_CONNECT_TIMEOUT':
      return 'no answer in time';
    default:
      return code === '' ? 'connection failed' : code;
  }
}
