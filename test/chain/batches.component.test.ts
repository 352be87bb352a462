import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createChains } from '../../adapters/chain/chains.js';
import { wordsPerRequest, type WordCall } from '../../core/chain/chain.js';
import { entryPoints } from '../../core/entry-point/address.js';
import { silentLogger } from '../../core/log.js';
import { noMetrics } from '../../core/metrics.js';
import { addressWord, parseAddressKey } from '../../core/units/address.js';
import type { Hex } from '../../core/units/hex.js';
import type { EpochMs } from '../../core/units/time.js';
import { balanceOf } from './support/balances.js';
import { startDevChain, type DevChain } from './support/dev-chain.js';
import { createNodes, type Nodes, type RawAnswer } from './support/nodes.js';

type Item = { readonly id: number; readonly params: readonly [request: { readonly to?: Hex }, block: Hex] };
type BatchNode = (batch: readonly Item[], answers: readonly object[]) => RawAnswer;

let devChain: DevChain;
let nodes: Nodes;
beforeAll(async () => {
  devChain = await startDevChain();
  nodes = createNodes(() => devChain.url);
});
afterAll(async () => {
  await nodes.stop();
  await devChain.stop();
});

const tooMany = { code: -32005, message: 'limit exceeded' };
const all: BatchNode = (_, answers) => json(answers);
const refusal = { jsonrpc: '2.0', id: null, error: { code: -32600, message: 'batches are not supported' } };
const atMost =
  (most: number): BatchNode =>
  (batch, answers) =>
    json(batch.length > most ? refusal : answers);

describe('a hundred balances of a node that runs no code without a contract', () => {
  // One that has something, one that nothing answers, one that the EntryPoint reverts; the rest have nothing.
  let calls: WordCall[];
  let words: (bigint | undefined)[];
  beforeAll(async () => {
    const paymaster = devChain.profile('2.0.0').sponsorship;
    const others = Array.from({ length: 97 }, (_, index) =>
      depositOf(`0x${hexByte(index)}${'11'.repeat(19)}`),
    );
    calls = [
      depositOf(paymaster),
      { ...depositOf(paymaster), to: `0x${'22'.repeat(20)}` },
      { to: entryPoints['0.7'], data: '0xdeadbeef' },
      ...others,
    ];
    const deposit = await balanceOf(devChain, entryPoints['0.7'], paymaster);
    words = [deposit, undefined, undefined, ...others.map(() => 0n)];
    expect(deposit).toBeGreaterThan(0n);
  });

  type Case = {
    readonly name: string;
    readonly node: BatchNode;
    /** Sizes of the batches of the first question, and of the second. */
    readonly first: readonly number[];
    readonly later: readonly number[];
    readonly singles: number;
  };
  // What was refused is not asked again.
  const oneByOne = { first: [100, ...tens()], later: [], singles: 100 };

  test.each<Case>([
    { name: 'are one request where it takes batches', node: all, first: [100], later: [100], singles: 0 },
    {
      name: 'are those of each call where its answers come in another order',
      node: (_, answers) => json(answers.toReversed()),
      first: [100],
      later: [100],
      singles: 0,
    },
    {
      name: 'are ten requests where it takes at most ten calls',
      node: atMost(10),
      first: [100, ...tens()],
      later: tens(),
      singles: 0,
    },
    {
      name: 'are ten more requests where it takes at most ten, and says so with the code of a rate limit',
      node: (batch, answers) =>
        json(batch.length > 10 ? { jsonrpc: '2.0', id: null, error: tooMany } : answers),
      first: [100, ...tens()],
      later: [100, ...tens()],
      singles: 0,
    },
    {
      name: 'are asked one by one where it answers a batch with one error',
      node: () => json(refusal),
      ...oneByOne,
    },
    {
      name: 'are asked one by one where a batch is a bad request',
      node: () => ({ status: 400, text: 'Bad Request' }),
      ...oneByOne,
    },
    {
      name: 'are asked one by one where a batch is an error of the server',
      node: () => ({ status: 500, text: '' }),
      ...oneByOne,
    },
    {
      name: 'are asked one by one where a batch is answered as its first call would be',
      node: (_, answers) => json(answers[0]),
      ...oneByOne,
    },
    {
      name: 'are asked one by one where the answer lacks a call',
      node: (_, answers) => json(answers.slice(1)),
      ...oneByOne,
    },
    {
      name: 'are asked one by one where an id comes twice',
      node: (_, answers) => json([...answers.slice(1), answers[1]]),
      ...oneByOne,
    },
    {
      name: 'are asked one by one where the answers have no ids',
      node: (_, answers) => json(answers.map((answer) => ({ ...answer, id: null }))),
      ...oneByOne,
    },
    {
      name: 'are asked one by one where one call of a batch has another error than a revert',
      node: (_, answers) => json([...answers.slice(1), { ...answers[0], ...internalError }]),
      ...oneByOne,
    },
  ])('$name', async ({ node, first, later, singles }) => {
    const { url, take } = await startNode(node);
    const chain = devChain.chains.get({ chainId: devChain.chainId, rpc: { urls: [url] } });
    const head = await devChain.chain.block('latest');
    expect(await chain.words(calls, { hash: head!.hash })).toEqual(words);
    expect(take()).toEqual({ code: 1, batches: first, singles });
    expect(await chain.words(calls, 'latest')).toEqual(words);
    expect(take()).toEqual({ code: 0, batches: later, singles });
  });

  test.each<{ name: string; busy: BatchNode; batches: readonly number[] }>([
    {
      name: 'with one error for the batch',
      busy: () => json({ jsonrpc: '2.0', id: null, error: tooMany }),
      batches: [100, ...tens()],
    },
    {
      name: 'with an error for each call',
      busy: (batch) => json(batch.map(({ id }) => ({ jsonrpc: '2.0', id, error: tooMany }))),
      batches: [100, ...tens()],
    },
    { name: 'with a status', busy: () => ({ status: 429, text: '' }), batches: [100] },
  ])(
    'are not asked one by one, now or later, because a node is busy and says so $name',
    async ({ busy, batches }) => {
      let isBusy = true;
      const { url, take } = await startNode((batch, answers) =>
        isBusy ? busy(batch, answers) : json(answers),
      );
      const chain = devChain.chains.get({ chainId: devChain.chainId, rpc: { urls: [url] } });
      await expect(chain.words(calls, 'latest')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
      expect(take()).toEqual({ code: 1, batches, singles: 0 });
      isBusy = false;
      expect(await chain.words(calls, 'latest')).toEqual(words);
      expect(take()).toEqual({ code: 1, batches: [100], singles: 0 });
    },
  );

  test('are asked again after an hour in the ways that the node refused', async () => {
    let now = 1_000_000;
    const clock = { now: () => now as EpochMs };
    const chains = createChains({ log: silentLogger, clock, metrics: noMetrics, timeoutMs: 20_000 });
    let takesBatches = false;
    const { url, take } = await startNode((_, answers) => json(takesBatches ? answers : refusal));
    const chain = chains.get({ chainId: devChain.chainId, rpc: { urls: [url] } });
    expect(await chain.words(calls, 'latest')).toEqual(words);
    expect(take()).toMatchObject({ code: 1, singles: 100 });
    takesBatches = true;
    now += 3_600_000;
    await chain.words(calls, 'latest');
    expect(take()).toEqual({ code: 0, batches: [], singles: 100 });
    now += 1;
    expect(await chain.words(calls, 'latest')).toEqual(words);
    expect(take()).toEqual({ code: 1, batches: [100], singles: 0 });
    await chains.stop();
  });

  test('are asked of the next URL in a batch, too, when the first does not answer', async () => {
    const down = await nodes.raw(() => Promise.resolve({ status: 503, text: 'busy' }));
    const { url, take } = await startNode(all);
    const chain = devChain.chains.get({ chainId: devChain.chainId, rpc: { urls: [down, url] } });
    expect(await chain.words(calls, 'latest')).toEqual(words);
    expect(take()).toEqual({ code: 1, batches: [100], singles: 0 });
  });

  test('are as many requests as there are hundreds', async () => {
    const { url, take } = await startNode(all);
    const chain = devChain.chains.get({ chainId: devChain.chainId, rpc: { urls: [url] } });
    const many = Array.from({ length: wordsPerRequest }, () => calls[0]!);
    expect(await chain.words(many, 'latest')).toEqual(many.map(() => words[0]));
    expect(take().batches.toSorted((one, other) => other - one)).toEqual([100, 50]);
  });

  test('are one call of our own code where the node runs it', async () => {
    let bodies = 0;
    const url = await nodes.raw(async (body) => {
      bodies += 1;
      return { text: await nodes.forward(body) };
    });
    const chain = devChain.chains.get({ chainId: devChain.chainId, rpc: { urls: [url] } });
    expect(await chain.words(calls, 'latest')).toEqual(words);
    expect(bodies).toBe(1);
  });
});

/** Counts what it is asked: runs of our code, which it refuses, the sizes of batches, and single calls. */
async function startNode(answerBatch: BatchNode) {
  let asked = { code: 0, batches: [] as number[], singles: 0 };
  const url = await nodes.raw(async (body) => {
    const parsed = JSON.parse(body) as Item | readonly Item[];
    if (isBatch(parsed)) {
      asked.batches.push(parsed.length);
      // The dev chain does not stop at a call of a batch that reverts, and answers in the batch's order.
      return answerBatch(parsed, JSON.parse(await nodes.forward(body)) as readonly object[]);
    }
    const isCode = parsed.params[0].to === undefined;
    asked[isCode ? 'code' : 'singles'] += 1;
    if (!isCode) return { text: await nodes.forward(body) };
    return json({ jsonrpc: '2.0', id: parsed.id, error: { code: -32602, message: 'missing field "to"' } });
  });
  const take = () => {
    const taken = asked;
    asked = { code: 0, batches: [], singles: 0 };
    return taken;
  };
  return { url, take };
}

const internalError = { result: undefined, error: { code: -32603, message: 'internal error' } };

function isBatch(body: Item | readonly Item[]): body is readonly Item[] {
  return Array.isArray(body);
}

function json(answer: unknown): RawAnswer {
  return { text: JSON.stringify(answer) };
}

function tens(): readonly number[] {
  return Array.from({ length: 10 }, () => 10);
}

function hexByte(value: number): string {
  return value.toString(16).padStart(2, '0');
}

function depositOf(paymaster: string): WordCall {
  return { to: entryPoints['0.7'], data: `0x70a08231${addressWord(parseAddressKey(paymaster))}` };
}
