import type { Chain, ChainEndpoint, Chains } from '../../core/chain/chain.js';
import { DomainError } from '../../core/errors.js';
import type { Clock } from '../../core/units/time.js';
import { createRpc, type RpcDeps, type Sender } from './json-rpc.js';
import { createUrlSource } from './url-source.js';
import {
  MalformedAnswer,
  parseBlock,
  parseHex,
  parseLogs,
  parseQuantity,
  parseSafeInteger,
  parseTransaction,
  toBlockParameter,
  toCallParams,
  toLogFilter,
} from './wire.js';
import { createWordReader } from './words.js';

type ChainsDeps = RpcDeps & {
  /** Directory of the mounted URL files that `rpc.file` names. Without it, an endpoint with a file is an error. */
  readonly urlDirectory?: string;
};

/**
 * Chains over JSON-RPC and HTTP. Several URLs are tried in order; one that failed rests for ten seconds. A call that no
 * URL answered within `timeoutMs` is DomainError UNAVAILABLE. Its message names hosts and never a path or query,
 * because these often hold a key. A reverted `eth_call` is CallReverted. Logs are asked only of a URL that has the last
 * block of the range.
 */
export function createChains(deps: ChainsDeps): Chains {
  const rpc = createRpc(deps);
  const chains = new Map<string, Chain>();
  let stopped: Promise<void> | undefined;

  return {
    get(endpoint) {
      const key = JSON.stringify([
        endpoint.chainId,
        endpoint.rpc.urls,
        endpoint.rpc.file,
        endpoint.rpc.multicall3,
        endpoint.lane,
        endpoint.only,
      ]);
      const existing = chains.get(key);
      if (existing !== undefined) return existing;
      const chain = connect(endpoint, () => {
        // The next caller that asks for this endpoint gets a new connection.
        if (chains.get(key) === chain) chains.delete(key);
      });
      chains.set(key, chain);
      return chain;
    },
    stop() {
      stopped ??= Promise.all([...chains.values()].map((chain) => chain.stop())).then(() => rpc.stop());
      return stopped;
    },
  };

  function connect(endpoint: ChainEndpoint, forget: () => void): Chain {
    const tracked = drainable(
      rpc.sender(endpoint.chainId, createUrlSource(endpoint, deps), endpoint.lane),
      endpoint.chainId,
    );
    return overRpc(endpoint, tracked, deps.clock, () => {
      forget();
      return tracked.stop();
    });
  }
}

/** Refuses calls after `stop`, which waits for those in flight. */
function drainable({ send, sendBatch }: Sender, chainId: number) {
  const inFlight = new Set<Promise<unknown>>();
  let isStopped = false;
  async function track<T>(method: string, begin: () => Promise<T>): Promise<T> {
    if (isStopped)
      throw new DomainError('UNAVAILABLE', `chain ${chainId}: ${method} refused, the connection is stopped`);
    const call = begin();
    inFlight.add(call);
    try {
      return await call;
    } finally {
      inFlight.delete(call);
    }
  }
  const stop = async () => {
    isStopped = true;
    await Promise.allSettled(inFlight);
  };
  const tracked: Sender = {
    send: (method, params) => track(method, () => send(method, params)),
    sendBatch: (method, paramsOfEach) => track(method, () => sendBatch(method, paramsOfEach)),
  };
  return { ...tracked, stop };
}

function overRpc(
  { chainId, rpc }: ChainEndpoint,
  sender: Sender,
  clock: Clock,
  stop: () => Promise<void>,
): Chain {
  const { send } = sender;
  async function ask<T>(
    method: string,
    params: readonly unknown[],
    parse: (result: unknown, what: string) => T,
  ): Promise<T> {
    const result = await send(method, params);
    try {
      return parse(result, `result of ${method}`);
    } catch (cause) {
      if (!(cause instanceof MalformedAnswer)) throw cause;
      throw new DomainError('UNAVAILABLE', `chain ${chainId}: ${cause.message}`, {
        reason: 'CHAIN_UNAVAILABLE',
      });
    }
  }
  const anyHex = (result: unknown, what: string) => parseHex(result, what);

  return {
    chainId: () => ask('eth_chainId', [], parseSafeInteger),
    block: (tag) =>
      typeof tag === 'object'
        ? ask('eth_getBlockByHash', [tag.hash, false], parseBlock)
        : ask('eth_getBlockByNumber', [toBlockParameter(tag), false], parseBlock),
    call: (request) => ask('eth_call', toCallParams(request), anyHex),
    words: createWordReader(sender, clock, rpc.multicall3),
    code: (address, tag) => ask('eth_getCode', [address, toBlockParameter(tag)], anyHex),
    balance: (address, tag) => ask('eth_getBalance', [address, toBlockParameter(tag)], parseQuantity),
    logs: (filter) => ask('eth_getLogs', [toLogFilter(filter)], parseLogs),
    priorityFee: () => ask('eth_maxPriorityFeePerGas', [], parseQuantity),
    transaction: (hash) => ask('eth_getTransactionByHash', [hash], parseTransaction),
    request: send,
    stop,
  };
}
