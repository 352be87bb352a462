import { AbiCoder } from 'ethers/abi';
import {
  CallReverted,
  wordsPerRequest,
  type BlockTag,
  type Chain,
  type WordCall,
} from '../../core/chain/chain.js';
import { DomainError } from '../../core/errors.js';
import { hexWord, hexSize, type Hex } from '../../core/units/hex.js';
import type { Clock } from '../../core/units/time.js';
import type { Sender } from './json-rpc.js';
import { isRateLimit, RpcError } from './node-errors.js';
import { MalformedAnswer, parseHex, toBlockParameter } from './wire.js';

const maxCallData = 96;
const hourMs = 3_600_000;
const requestsAtOnce = 16;
/** Calls of a batch: few enough for most nodes, and for those that allow the fewest. */
const batchSizes = [100, 10];

type Words = readonly (bigint | undefined)[];
type Way = (calls: readonly WordCall[], block: BlockTag) => Promise<Words>;

/**
 * Many calls in one `eth_call`: of Multicall3 where the chain is known to have it. Elsewhere the node runs our code as if it
 * were to deploy a contract; the code makes the calls and returns their words. That needs neither a contract on the chain nor a
 * state override, but some nodes refuse it. They are asked by JSON-RPC batches, and the last resort is one request for each call.
 * A node is not asked again for an hour in a way that it has refused; the next node behind its URL may have refused only because
 * it did not have the block yet.
 */
export function createWordReader(
  { send, sendBatch }: Sender,
  clock: Clock,
  multicall3?: string,
): Chain['words'] {
  const allWays: readonly Way[] = [
    ...(multicall3 === undefined ? [] : [throughMulticall3]),
    together,
    ...batchSizes.map((size) => inBatchesOf(size)),
    oneByOne,
  ];
  let ways = allWays;
  let refusedAt = clock.now();

  async function throughMulticall3(calls: readonly WordCall[], block: BlockTag): Promise<Words> {
    const request = { to: multicall3, data: aggregate3(calls) };
    return decodeWords(await send('eth_call', [request, toBlockParameter(block)]), calls.length);
  }

  async function together(calls: readonly WordCall[], block: BlockTag): Promise<Words> {
    const answer = await send('eth_call', [{ data: assembleCode(calls) }, toBlockParameter(block)]);
    const words = parseHex(answer, 'result of eth_call', calls.length * 64).slice(2);
    return calls.map((_, index) => {
      const [flag, word] = [0, 64].map((at) => words.slice(index * 128 + at, index * 128 + at + 64));
      return BigInt(`0x${flag}`) === 1n ? BigInt(`0x${word}`) : undefined;
    });
  }

  function inBatchesOf(size: number): Way {
    return async (calls, block) => {
      const answers = await inTurns(inPieces(calls, size), (batch) =>
        sendBatch(
          'eth_call',
          batch.map((call) => callParams(call, block)),
        ),
      );
      return answers.flat().map(firstWord);
    };
  }

  function oneByOne(calls: readonly WordCall[], block: BlockTag): Promise<Words> {
    return inTurns(calls, async (call) => {
      try {
        return firstWord(await send('eth_call', callParams(call, block)));
      } catch (error) {
        if (error instanceof CallReverted) return undefined;
        throw error;
      }
    });
  }

  async function ask(calls: readonly WordCall[], block: BlockTag): Promise<Words> {
    if (calls.length === 1) return oneByOne(calls, block);
    if (clock.now() - refusedAt > hourMs) ways = allWays;
    const tried = ways;
    const refused = new Set<Way>();
    for (const [index, way] of tried.entries())
      try {
        const words = await way(calls, block);
        // Only now: the node may have refused the others because of the block, not because of the call.
        if (refused.size > 0) [ways, refusedAt] = [tried.filter((each) => !refused.has(each)), clock.now()];
        return words;
      } catch (error) {
        if (index === tried.length - 1 || !isRefusal(error)) throw error;
        if (!isTooMuch(error)) refused.add(way);
        // The second time: more requests do not help a busy node.
        else if (refused.size < index) throw error;
      }
    throw new Error('unreachable: the last way answers or throws');
  }

  return async (calls, block) => {
    const words: (bigint | undefined)[] = [];
    for (const piece of inPieces(calls, wordsPerRequest)) words.push(...(await ask(piece, block)));
    return words;
  };
}

function callParams({ to, data }: WordCall, block: BlockTag): readonly unknown[] {
  return [{ to, data }, toBlockParameter(block)];
}

function firstWord(answer: unknown): bigint | undefined {
  const word = typeof answer === 'string' ? /^0x[0-9a-fA-F]{64}/.exec(answer) : null;
  return word === null ? undefined : BigInt(word[0]);
}

/** Throws when nothing is left in flight. */
async function inTurns<T, R>(all: readonly T[], ask: (one: T) => Promise<R>): Promise<readonly R[]> {
  const answers: R[] = [];
  for (const piece of inPieces(all, requestsAtOnce))
    for (const asked of await Promise.allSettled(piece.map(ask))) {
      if (asked.status === 'rejected') throw asked.reason;
      answers.push(asked.value);
    }
  return answers;
}

function inPieces<T>(all: readonly T[], size: number): readonly (readonly T[])[] {
  const count = Math.ceil(all.length / size);
  return Array.from({ length: count }, (_, index) => all.slice(index * size, (index + 1) * size));
}

const abi = AbiCoder.defaultAbiCoder();

/** `aggregate3((address target, bool allowFailure, bytes callData)[])` of Multicall3. */
function aggregate3(calls: readonly WordCall[]): Hex {
  const all = calls.map(({ to, data }) => [to, true, data]);
  return `0x82ad56cb${abi.encode(['tuple(address,bool,bytes)[]'], [all]).slice(2)}`;
}

/** Of `(bool success, bytes returnData)[]`. Throws MalformedAnswer, e.g. where there is no Multicall3. */
function decodeWords(answer: unknown, count: number): Words {
  try {
    const [results] = abi.decode(['tuple(bool,bytes)[]'], parseHex(answer, 'result of eth_call'));
    const found: readonly (readonly [success: boolean, data: string])[] = results.toArray();
    if (found.length === count)
      return found.map(([success, data]) =>
        success && data.length >= 66 ? BigInt(data.slice(0, 66)) : undefined,
      );
  } catch {
    // Of another form.
  }
  throw new MalformedAnswer(`the answer of Multicall3 must have ${count} results`, answer);
}

/** The node answered, but not with words: it does not run such a call, or does not have the block. */
function isRefusal(error: unknown): boolean {
  if (error instanceof CallReverted || error instanceof MalformedAnswer) return true;
  return error instanceof DomainError && error.cause instanceof RpcError;
}

/** It has a limit, for requests or for calls of a batch: codes do not tell which. */
function isTooMuch(error: unknown): boolean {
  return error instanceof DomainError && error.cause instanceof RpcError && isRateLimit(error.cause);
}

/** Gas for each call: a call that never ends must leave enough for the others. */
const gasPerCall = '07a120';

/**
 * i = 0; while i < count: copies record i to memory, calls, stores whether there was a word, and the word. At the end
 * it returns 64 bytes for each call from byte 160 on.
 */
function assembleCode(calls: readonly WordCall[]): Hex {
  const uint16 = (value: number): string => value.toString(16).padStart(4, '0');
  const body = (size: number): string =>
    [
      '6000', // i
      `5b61${uint16(calls.length)}811015`, // loop: JUMPDEST, i < count, ISZERO
      `61${uint16(size - 7)}57`, // to the end if so
      `60a0810261${uint16(size)}0160a090600039`, // CODECOPY(0, size + 160 i, 160)
      '8060400260a001', // out = 160 + 64 i
      '602081602001', // 32 bytes of the answer to out + 32
      `602051604060005162${gasPerCall}fa`, // STATICCALL(gas, word 0, 64, word 1, …)
      '601f3d111690', // it worked and gave a word
      '52', // stored at out
      '600101600256', // i += 1, back to the loop
      `5b61${uint16(calls.length * 64)}60a0f3`, // end: RETURN(160, 64 count)
    ].join('');
  const size = body(0).length / 2;
  return `0x${body(size)}${calls.map(encodeRecord).join('')}`;
}

/** 160 bytes: address and size of the call data as words, call data. */
function encodeRecord({ to, data }: WordCall): string {
  const size = hexSize(data);
  if (size > maxCallData) throw new RangeError(`call data must be at most ${maxCallData} bytes, got ${size}`);
  return [to.slice(2).padStart(64, '0'), hexWord(size), data.slice(2).padEnd(maxCallData * 2, '0')].join('');
}
