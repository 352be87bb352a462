import { once } from 'node:events';
import { createServer, type Server } from 'node:http';

/** A node's handling of a call: it forwards the call, also with other parameters, or answers itself. */
export type Reply =
  | 'pass'
  | { readonly params: readonly unknown[] }
  | { readonly result: unknown }
  | { readonly error: object };

export const tooManyArguments = { error: { code: -32602, message: 'too many arguments, want at most 2' } };

/** `closed` resolves when nobody waits for the answer. */
type Decide = (
  method: string,
  params: readonly unknown[],
  closed: Promise<unknown>,
) => Reply | Promise<Reply>;

export type RawAnswer = { readonly status?: number; readonly text: string };

/** Nodes in front of the dev chain, each with its own limits or faults. */
export type Nodes = {
  /** Its URL. */
  proxy(reply: Decide): Promise<string>;
  /** One that answers whole bodies, e.g. batches. */
  raw(answer: (body: string, closed: Promise<unknown>) => Promise<RawAnswer>): Promise<string>;
  /** What the chain itself answers to a body. */
  forward(body: string): Promise<string>;
  /** Ends all of them; more may be started after. */
  stop(): Promise<void>;
};

export function createNodes(chainUrl: () => string): Nodes {
  let servers: Server[] = [];

  async function answer(reply: Decide, body: string, closed: Promise<unknown>): Promise<string> {
    const { method, params } = JSON.parse(body) as { method: string; params: readonly unknown[] };
    const decided = await reply(method, params, closed);
    if (decided !== 'pass' && !('params' in decided))
      return JSON.stringify({ jsonrpc: '2.0', id: 1, ...decided });
    const forwarded = decided === 'pass' ? params : decided.params;
    return forward(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: forwarded }));
  }

  async function forward(body: string): Promise<string> {
    const headers = { 'content-type': 'application/json' };
    return (await fetch(chainUrl(), { method: 'POST', headers, body })).text();
  }

  async function raw(answerTo: Parameters<Nodes['raw']>[0]): Promise<string> {
    const server = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        const closed = once(response, 'close');
        answerTo(body, closed).then(
          ({ status, text }) => response.writeHead(status ?? 200).end(text),
          () => response.destroy(),
        );
      });
    });
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
    return `http://127.0.0.1:${address.port}`;
  }

  return {
    proxy: (reply) => raw(async (body, closed) => ({ text: await answer(reply, body, closed) })),
    raw,
    forward,
    async stop() {
      await Promise.all(
        servers.map((server) => new Promise((resolve) => server.close(resolve).closeAllConnections())),
      );
      servers = [];
    },
  };
}

export type RoundsNode = {
  readonly url: string;
  /** The sizes of the next rounds, in `eth_call`s. */
  plan(...sizes: readonly number[]): void;
  /** True when every planned round was asked and nothing waits. */
  isDone(): boolean;
};

/**
 * A node that answers simulations in rounds of a planned size: it waits until as many are asked at once, so an estimate
 * that makes them one after the other never ends. While no round is planned it answers each at once.
 */
export async function startInRounds(
  nodes: Nodes,
  reply: (params: readonly unknown[]) => Reply = () => 'pass',
): Promise<RoundsNode> {
  let sizes: number[] = [];
  let waiting: (() => void)[] = [];
  const url = await nodes.proxy((method, params) => {
    if (method !== 'eth_call') return 'pass';
    return new Promise<Reply>((resolve) => {
      waiting.push(() => resolve(reply(params)));
      if (waiting.length < (sizes[0] ?? 1)) return;
      sizes.shift();
      const round = waiting;
      waiting = [];
      for (const answer of round) answer();
    });
  });
  return {
    url,
    plan: (...planned) => {
      if (sizes.length > 0) throw new Error(`rounds of ${sizes.join(', ')} calls were not asked`);
      sizes = [...planned];
    },
    isDone: () => sizes.length === 0 && waiting.length === 0,
  };
}
