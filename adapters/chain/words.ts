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
import type { SendRpc } from './json-rpc.js';
import { RpcError } from './node-errors.js';
import { MalformedAnswer, parseHex, toBlockParameter } from './wire.js';

const maxCallData = 96;
const callsAtOnce = 16;

type Words = readonly (bigint | undefined)[];

/**
 * Many calls in one `eth_call`: of Multicall3 where the chain is known to have it. Elsewhere the node runs our code as if it
 * were to deploy a contract; the code makes the calls and returns their words. That needs neither a contract on the chain nor a
 * state override, but some nodes refuse it. The last resort is one request for each call. A node is not asked again in a way that
 * it has refused.
 */
export function createWordReader(send: SendRpc, multicall3?: string): Chain['words'] {
  let ways = [...(multicall3 === undefined ? [] : [throughMulticall3]), together, oneByOne];

  async function throughMulticall3(calls: readonly WordCall[], block: BlockTag): Promise<Words> {
    const request = { to: multicall3, data: aggregate3(calls) };
    return wordsOf(await send('eth_call', [request, toBlockParameter(block)]), calls.length);
  }

  async function together(calls: readonly WordCall[], block: BlockTag): Promise<Words> {
    const answer = await send('eth_call', [{ data: codeOf(calls) }, toBlockParameter(block)]);
    const words = parseHex(answer, 'result of eth_call', calls.length * 64).slice(2);
    return calls.map((_, index) => {
      const [flag, word] = [0, 64].map((at) => words.slice(index * 128 + at, index * 128 + at + 64));
      return BigInt(`0x${flag}`) === 1n ? BigInt(`0x${word}`) : undefined;
    });
  }

  async function oneByOne(calls: readonly WordCall[], block: BlockTag): Promise<Words> {
    const words: (bigint | undefined)[] = [];
    for (let at = 0; at < calls.length; at += callsAtOnce)
      words.push(...(await Promise.all(calls.slice(at, at + callsAtOnce).map((call) => one(call, block)))));
    return words;
  }

  async function one({ to, data }: WordCall, block: BlockTag): Promise<bigint | undefined> {
    try {
      const answer = await send('eth_call', [{ to, data }, toBlockParameter(block)]);
      const word = typeof answer === 'string' ? /^0x[0-9a-fA-F]{64}/.exec(answer) : null;
      return word === null ? undefined : BigInt(word[0]);
    } catch (error) {
      if (error instanceof CallReverted) return undefined;
      throw error;
    }
  }

  async function ask(calls: readonly WordCall[], block: BlockTag): Promise<Words> {
    if (calls.length === 1) return oneByOne(calls, block);
    const tried = ways;
    for (const [index, way] of tried.entries())
      try {
        const words = await way(calls, block);
        // Only now: the node may have refused the others because of the block, not because of the call.
        ways = tried.slice(index);
        return words;
      } catch (error) {
        if (index === tried.length - 1 || !isRefusal(error)) throw error;
      }
    throw new Error('unreachable: the last way answers or throws');
  }

  return async (calls, block) => {
    const words: (bigint | undefined)[] = [];
    for (let at = 0; at < calls.length; at += wordsPerRequest)
      words.push(...(await ask(calls.slice(at, at + wordsPerRequest), block)));
    return words;
  };
}

const abi = AbiCoder.defaultAbiCoder();

/** `aggregate3((address target, bool allowFailure, bytes callData)[])` of Multicall3. */
function aggregate3(calls: readonly WordCall[]): Hex {
  const all = calls.map(({ to, data }) => [to, true, data]);
  return `0x82ad56cb${abi.encode(['tuple(address,bool,bytes)[]'], [all]).slice(2)}`;
}

/** Of `(bool success, bytes returnData)[]`. Throws MalformedAnswer, e.g. where there is no Multicall3. */
function wordsOf(answer: unknown, count: number): Words {
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

/** Gas for each call: a call that never ends must leave enough for the others. */
const gasPerCall = '07a120';

/**
 * i = 0; while i < count: copies record i to memory, calls, stores whether there was a word, and the word. At the end
 * it returns 64 bytes for each call from byte 160 on.
 */
function codeOf(calls: readonly WordCall[]): Hex {
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
  return `0x${body(size)}${calls.map(recordOf).join('')}`;
}

/** 160 bytes: address and size of the call data as words, call data. */
function recordOf({ to, data }: WordCall): string {
  const size = hexSize(data);
  if (size > maxCallData) throw new RangeError(`call data must be at most ${maxCallData} bytes, got ${size}`);
  return [to.slice(2).padStart(64, '0'), hexWord(size), data.slice(2).padEnd(maxCallData * 2, '0')].join('');
}
