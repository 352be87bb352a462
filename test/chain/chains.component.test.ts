import { createServer, type IncomingMessage, type Server } from 'node:http';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createChains } from '../../adapters/chain/chains.js';
import { CallReverted, type Chain, type Chains } from '../../core/chain/chain.js';
import { DomainError, isDomainError } from '../../core/errors.js';
import { silentLogger } from '../../core/log.js';
import type { Metrics } from '../../core/metrics.js';
import { noMetrics } from '../../core/metrics.js';
import type { Hex } from '../../core/units/hex.js';
import type { EpochMs } from '../../core/units/time.js';
import { until } from '../support/until.js';

type Answer =
  { readonly status?: number; readonly body: string | Buffer; readonly encoding?: string } | 'hang' | 'drop';
type Node = {
  readonly url: string;
  readonly host: string;
  readonly requests: string[];
  answer: () => Answer;
};

const word = `0x${'ab'.repeat(32)}`;
let nodes: Server[];
let chains: Chains;
let now: number;
let counted: string[];

beforeEach(() => {
  nodes = [];
  counted = [];
  now = 1_000_000;
  chains = connect({});
});
afterEach(async () => {
  await chains.stop();
  await Promise.all(nodes.map(close));
});

describe('failover', () => {
  test('the second URL answers when the first is down, and the first is asked again after its rest', async () => {
    const [first, second] = [
      await node(() => ({ status: 503, body: 'busy' })),
      await node(() => result('0x1')),
    ];
    const chain = chains.get({ chainId: 1, rpc: { urls: [first.url, second.url] } });
    expect(await chain.chainId()).toBe(1);
    expect(await chain.chainId()).toBe(1);
    expect([first.requests.length, second.requests.length]).toEqual([1, 2]);
    first.answer = () => result('0x7');
    now += 10_001;
    expect(await chain.chainId()).toBe(7);
    expect([first.requests.length, second.requests.length]).toEqual([2, 2]);
  });

  test.each<{ name: string; answer: Answer; failure: RegExp }>([
    { name: 'a closed connection', answer: 'drop', failure: /UND_ERR_SOCKET|ECONNRESET/ },
    { name: 'no answer', answer: 'hang', failure: /no answer in time/ },
    { name: 'HTTP 500', answer: { status: 500, body: '' }, failure: /HTTP 500/ },
    { name: 'a page instead of JSON', answer: { body: '<html>' }, failure: /not JSON-RPC/ },
    { name: 'JSON that is not an answer', answer: { body: '[1]' }, failure: /not JSON-RPC/ },
    { name: 'a rate limit', answer: error(-32005, 'slow down'), failure: /error -32005 \(slow down\)/ },
    { name: 'an unknown method', answer: error(-32601, 'no such method'), failure: /error -32601/ },
  ])('$name is UNAVAILABLE when no other URL is left, and names the host', async ({ answer, failure }) => {
    const only = await node(() => answer);
    if (answer === 'hang') chains = connect({ timeoutMs: 500 });
    const chain = chains.get({ chainId: 5, rpc: { urls: [`${only.url}/v3/SECRETKEY?token=SECRETKEY`] } });
    const caught = await failureOf(chain.chainId());
    expect(isDomainError(caught, 'UNAVAILABLE')).toBe(true);
    expect(String(caught)).toMatch(failure);
    expect(String(caught)).toContain(`chain 5: eth_chainId failed at ${only.host}`);
    expect(JSON.stringify([String(caught), caught])).not.toContain('SECRETKEY');
  });

  test.each([
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
  ] as const)(
    'an answer in %s is read, although it was not asked for, and bounded',
    async (encoding, compress) => {
      const text = JSON.stringify({ jsonrpc: '2.0', id: 1, result: '0x7' });
      const asked: unknown[] = [];
      const only = await node(
        () => ({ body: compress(text), encoding }),
        ({ headers }) => asked.push(headers['accept-encoding']),
      );
      const chain = chains.get({ chainId: 5, rpc: { urls: [only.url] } });
      expect(await chain.chainId()).toBe(7);
      expect(asked).toEqual(['identity']);
      only.answer = () => ({ body: compress(text.replace('0x7', `0x${'0'.repeat(40_000_000)}`)), encoding });
      expect(String(await failureOf(chain.chainId()))).toContain('an answer above 33554432 bytes');
    },
  );

  test('a hanging first URL leaves time for the second', async () => {
    const [first, second] = [await node(() => 'hang'), await node(() => result('0x1'), aMoment)];
    chains = connect({ timeoutMs: 16_000 });
    const chain = chains.get({ chainId: 1, rpc: { urls: [first.url, second.url] } });
    expect(await chain.chainId()).toBe(1);
  });

  test('a call that waits for a connection, since all of them hang, leaves time for the second URL too', async () => {
    const [first, second] = [await node(() => 'hang'), await node(() => result('0x1'), aMoment)];
    chains = connect({ timeoutMs: 16_000 });
    const alone = chains.get({ chainId: 1, rpc: { urls: [first.url] } });
    const hanging = Promise.allSettled(Array.from({ length: 16 }, () => alone.chainId()));
    await until('every connection hangs', () => first.requests.length === 16);
    // It spends half of its time on the first URL, whose connections the other calls hold for their whole time.
    const chain = chains.get({ chainId: 1, rpc: { urls: [first.url, second.url] } });
    expect(await chain.chainId()).toBe(1);
    expect(new Set((await hanging).map(({ status }) => status))).toEqual(new Set(['rejected']));
  });

  describe('to a URL that lags', () => {
    const header = { number: '0x10', hash: word, parentHash: word, timestamp: '0x65', baseFeePerGas: '0x7' };
    const byNumber = { fromBlock: 1, toBlock: 16 };
    const byHash = { blockHash: word as Hex };

    /** Refuses the range at its first URL; the second has no log in it, and block 16 or not. */
    async function twoNodes(hasBlock: boolean) {
      const first = await node((method) =>
        method === 'eth_getLogs' ? error(-32600, 'range too wide') : result(header),
      );
      const second = await node((method) => result(method === 'eth_getLogs' ? [] : hasBlock ? header : null));
      const chain = chains.get({ chainId: 1, rpc: { urls: [first.url, second.url] } });
      return { chain, first, second };
    }

    test.each([
      { name: 'up to a height', filter: byNumber, block: '0x10' },
      { name: 'of a hash', filter: byHash, block: word },
    ])(
      'finds no logs in blocks $name that it does not have: that is not an answer',
      async ({ filter, block }) => {
        const { chain, second } = await twoNodes(false);
        const caught = await failureOf(chain.logs(filter));
        expect(isDomainError(caught, 'UNAVAILABLE')).toBe(true);
        expect(String(caught)).toContain('range too wide');
        expect(String(caught)).toContain(`block ${block} is not there yet`);
        expect(second.requests).not.toContain('eth_getLogs');
      },
    );

    test.each([
      { filter: byNumber, method: 'eth_getBlockByNumber' },
      { filter: byHash, method: 'eth_getBlockByHash' },
    ])('is asked for logs once it has their last block: $method', async ({ filter, method }) => {
      const { chain, second } = await twoNodes(true);
      expect(await chain.logs(filter)).toEqual([]);
      // In this order: a block that came in between would be missing in the logs.
      expect(second.requests).toEqual([method, 'eth_getLogs']);
    });
  });

  test('a URL in a node’s message is not repeated', async () => {
    const only = await node(() => error(-32000, 'limit of https://node.example/v3/SECRETKEY reached'));
    const caught = await failureOf(chains.get({ chainId: 1, rpc: { urls: [only.url] } }).chainId());
    expect(String(caught)).toContain('limit of <url> reached');
  });
});

describe('a reverted eth_call', () => {
  const data = '0x08c379a0aabb';
  test.each<{ name: string; answer: Answer; want: string }>([
    { name: 'anvil and geth', answer: error(3, 'execution reverted', data), want: data },
    { name: 'geth without a reason', answer: error(-32000, 'execution reverted'), want: '0x' },
    {
      name: 'hardhat',
      answer: error(-32603, 'Error: VM Exception while processing transaction: reverted', {
        message: 'x',
        data,
      }),
      want: data,
    },
    { name: 'besu', answer: error(-32000, 'Execution reverted', data), want: data },
    { name: 'nethermind', answer: error(-32015, 'VM execution error.', `Reverted ${data}`), want: data },
    { name: 'upper-case data', answer: error(3, 'execution reverted', '0x08C379A0AABB'), want: data },
  ])(
    'in the form of $name is CallReverted with its data, and no other URL is asked',
    async ({ answer, want }) => {
      const [first, second] = [await node(() => answer), await node(() => result('0x1234'))];
      const chain = chains.get({ chainId: 1, rpc: { urls: [first.url, second.url] } });
      const caught = await failureOf(chain.call({ to: `0x${'11'.repeat(20)}`, data: '0x' }));
      expect(caught).toBeInstanceOf(CallReverted);
      expect(caught).toMatchObject({ data: want });
      expect(second.requests).toEqual([]);
    },
  );

  test('of another method stays an error of the node', async () => {
    const only = await node(() => error(3, 'execution reverted', data));
    const caught = await failureOf(chains.get({ chainId: 1, rpc: { urls: [only.url] } }).chainId());
    expect(isDomainError(caught, 'UNAVAILABLE')).toBe(true);
  });
});

describe('answers', () => {
  test('a block, its logs and a transaction are read', async () => {
    const header = { number: '0x10', hash: word, parentHash: word, timestamp: '0x65', baseFeePerGas: '0x7' };
    const log = {
      address: `0x${'AA'.repeat(20)}`,
      topics: [word],
      data: '0xFF',
      blockNumber: '0x10',
      blockHash: word,
      transactionHash: word,
      logIndex: '0x2',
    };
    const only = await node((method) =>
      result({ eth_getBlockByNumber: header, eth_getLogs: [log] }[method] ?? { input: '0x01', to: null }),
    );
    const chain = chains.get({ chainId: 1, rpc: { urls: [only.url] } });
    expect(await chain.block('latest')).toEqual({
      number: 16,
      hash: word,
      parentHash: word,
      timestamp: 101,
      baseFeePerGas: 7n,
    });
    expect(await chain.logs({ fromBlock: 1, toBlock: 16 })).toMatchObject([
      { address: `0x${'aa'.repeat(20)}`, data: '0xff', logIndex: 2 },
    ]);
    expect(await chain.transaction(`0x${'cd'.repeat(32)}`)).toEqual({ input: '0x01', to: undefined });
  });

  test('a block that the node does not have is undefined', async () => {
    const only = await node(() => result(null));
    expect(await chains.get({ chainId: 1, rpc: { urls: [only.url] } }).block(9)).toBeUndefined();
  });

  test.each<{ name: string; value: unknown }>([
    { name: 'a number instead of hex', value: 1 },
    { name: 'hex without digits', value: '0x' },
    { name: 'text', value: 'one' },
    { name: 'null', value: null },
    { name: 'more than 2^53', value: '0x20000000000001' },
  ])('a chain id that is $name is UNAVAILABLE and says what was expected', async ({ value }) => {
    const only = await node(() => result(value));
    const caught = await failureOf(chains.get({ chainId: 1, rpc: { urls: [only.url] } }).chainId());
    expect(isDomainError(caught, 'UNAVAILABLE')).toBe(true);
    expect(String(caught)).toMatch(/result of eth_chainId must be/);
  });

  test.each<{ name: string; ask: (chain: Chain) => Promise<unknown>; mebibytes: number }>([
    { name: 'a body', ask: (chain) => chain.chainId(), mebibytes: 32 },
    { name: 'a transaction, whose size the miner decides,', ask: transactionOf, mebibytes: 4 },
  ])('$name above $mebibytes MiB is cut off, and its URL is asked as before', async ({ ask, mebibytes }) => {
    const large = { result: { input: `0x${'00'.repeat(mebibytes << 19)}`, to: null } };
    const first = await node(() => ({ body: JSON.stringify(large) }));
    const second = await node(() => result({ input: '0x', to: null }));
    const chain = chains.get({ chainId: 1, rpc: { urls: [first.url] } });
    const caught = await failureOf(ask(chain));
    expect(String(caught)).toContain(`an answer above ${mebibytes << 20} bytes`);
    const both = chains.get({ chainId: 1, rpc: { urls: [first.url, second.url] } });
    await ask(both).catch(() => {});
    expect(first.requests).toHaveLength(2);
  });

  test('a transaction of almost the largest size is read', async () => {
    const input = `0x${'00'.repeat(1 << 20)}`;
    const only = await node(() => result({ input, to: null }));
    const chain = chains.get({ chainId: 1, rpc: { urls: [only.url] } });
    expect(await transactionOf(chain)).toMatchObject({ input });
  });
});

describe('a file of URLs', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'urls-'));
    chains = connect({ urlDirectory: directory });
  });
  afterEach(() => rm(directory, { recursive: true }));

  test('is read again when it changes, and a broken edit keeps the last one', async () => {
    const [first, second] = [await node(() => result('0x1')), await node(() => result('0x2'))];
    const file = join(directory, 'main.urls');
    await writeFile(file, `# comment\n\n${first.url}\n`);
    const chain = chains.get({ chainId: 1, rpc: { file: 'main.urls' } });
    expect(await chain.chainId()).toBe(1);
    await writeFile(file, `  ${second.url}  \n`);
    now += 1_001;
    expect(await chain.chainId()).toBe(2);
    await writeFile(file, 'no url at all\n');
    now += 1_001;
    expect(await chain.chainId()).toBe(2);
  });

  test('is asked one URL at a time where a caller wants that', async () => {
    const [first, second] = [await node(() => result('0x1')), await node(() => result('0x2'))];
    await writeFile(join(directory, 'two'), `${first.url}\n${second.url}\n`);
    const ask = (only: number) => chains.get({ chainId: 1, rpc: { file: 'two' }, only }).chainId();
    expect(await Promise.all([0, 1, 2, 3].map(ask))).toEqual([1, 2, 1, 2]);
    second.answer = () => 'drop';
    await expect(ask(1)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(first.requests).toHaveLength(2);
  });

  test('that is missing or holds no URL is UNAVAILABLE, without quoting it', async () => {
    expect(String(await failureOf(chains.get({ chainId: 1, rpc: { file: 'none' } }).chainId()))).toMatch(
      /chain 1: URL file "none" is not usable: it cannot be read/,
    );
    await writeFile(join(directory, 'bad'), 'htp:/SECRETKEY\n');
    const caught = await failureOf(chains.get({ chainId: 1, rpc: { file: 'bad' } }).chainId());
    expect(String(caught)).toMatch(/line 1 of "bad" \(chain 1\) must be an http or https URL/);
    expect(String(caught)).not.toContain('SECRETKEY');
  });

  test.each(['../secret', '/etc/passwd', 'a/b', '.hidden', ''])('named "%s" is refused', (file) => {
    expect(() => chains.get({ chainId: 1, rpc: { file } })).toThrow(DomainError);
  });
});

test('user and password of a URL are sent as basic authorization', async () => {
  let authorization: string | undefined;
  const only = await node(
    () => result('0x1'),
    (request) => (authorization = request.headers.authorization),
  );
  const url = only.url.replace('http://', 'http://user:p%40ss@');
  expect(await chains.get({ chainId: 1, rpc: { urls: [url] } }).chainId()).toBe(1);
  expect(authorization).toBe(`Basic ${Buffer.from('user:p@ss').toString('base64')}`);
});

test('one endpoint is one chain; metrics count calls by method and outcome', async () => {
  const only = await node((method) =>
    method === 'eth_call' ? error(3, 'execution reverted') : result('0x1'),
  );
  const endpoint = { chainId: 1, rpc: { urls: [only.url] } };
  expect(chains.get(endpoint)).toBe(chains.get({ ...endpoint }));
  expect(chains.get({ ...endpoint, chainId: 2 })).not.toBe(chains.get(endpoint));
  await chains.get(endpoint).chainId();
  await failureOf(chains.get(endpoint).call({ to: `0x${'11'.repeat(20)}`, data: '0x' }));
  expect(counted).toEqual(['eth_chainId ok', 'eth_call reverted']);
});

test('stop waits for calls in flight, may be called twice, and later calls are refused', async () => {
  let release = () => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  const only = await node(
    () => result('0x1'),
    () => held,
  );
  const chain = chains.get({ chainId: 1, rpc: { urls: [only.url] } });
  const call = chain.chainId();
  const stopped = Promise.all([chains.stop(), chains.stop()]);
  release();
  expect(await call).toBe(1);
  await stopped;
  expect(String(await failureOf(chain.chainId()))).toMatch(/the connection is stopped/);
});

test('a chain that was stopped alone is made anew when it is asked for again', async () => {
  const only = await node(() => result('0x1'));
  const endpoint = { chainId: 1, rpc: { urls: [only.url] } };
  const first = chains.get(endpoint);
  await first.stop();
  expect(chains.get(endpoint)).not.toBe(first);
  expect(await chains.get(endpoint).chainId()).toBe(1);
});

function connect(options: { readonly urlDirectory?: string; readonly timeoutMs?: number }): Chains {
  const metrics: Metrics = {
    ...noMetrics,
    counter: () => ({ with: (labels) => ({ inc: () => counted.push(Object.values(labels).join(' ')) }) }),
  };
  return createChains({
    log: silentLogger,
    clock: { now: () => now as EpochMs },
    metrics,
    timeoutMs: 120_000,
    ...options,
  });
}

/** A node that answers each request with the `answer` for its method. */
async function node(
  answer: (method: string) => Answer,
  before: (request: IncomingMessage) => unknown = () => {},
): Promise<Node> {
  const self: Node = { url: '', host: '', requests: [], answer: () => answer(self.requests.at(-1) ?? '') };
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      const method = /"method":"(\w+)"/.exec(body)?.[1] ?? '';
      self.requests.push(method);
      void Promise.resolve(before(request)).then(() => {
        const reply = self.answer();
        if (reply === 'drop') request.socket.destroy();
        if (typeof reply === 'object')
          response
            .writeHead(reply.status ?? 200, reply.encoding ? { 'content-encoding': reply.encoding } : {})
            .end(reply.body);
      });
    });
  });
  nodes.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the test node has no port');
  const host = `127.0.0.1:${address.port}`;
  return Object.assign(self, { url: `http://${host}`, host });
}

/** More time than a call has left that spent all of its time on the previous URL. */
function aMoment(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 100));
}

function result(value: unknown): Answer {
  return { body: JSON.stringify({ jsonrpc: '2.0', id: 1, result: value }) };
}

function error(code: number, message: string, data?: unknown): Answer {
  return { body: JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code, message, data } }) };
}

async function close(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}

async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (caught) {
    return caught;
  }
  throw new Error('expected a failure');
}

describe('words of many calls', () => {
  const call = { to: `0x${'11'.repeat(20)}`, data: '0x12345678' } as const;

  test('are not there when the node has not the block', async () => {
    const it = await node(() => ({
      body: '{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"header not found"}}',
    }));
    const chain = chains.get({ chainId: 1, rpc: { urls: [it.url] } });
    await expect(chain.words([call, call], 7)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });
});

function transactionOf(chain: Chain) {
  return chain.transaction(`0x${'cd'.repeat(32)}`);
}
