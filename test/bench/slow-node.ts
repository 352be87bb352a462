import { createServer } from 'node:http';
import { setTimeout as after } from 'node:timers/promises';

/** What a bundler asks by itself, whatever it estimates. */
const background: ReadonlySet<string> = new Set([
  'eth_blockNumber',
  'eth_chainId',
  'eth_getBalance',
  'eth_getBlockByNumber',
  'eth_getFilterChanges',
  'eth_getLogs',
]);

/** A node in front of another one that answers late, and counts calls and how many were made one after the other. */
export type SlowNode = {
  readonly url: string;
  /** What was counted since it was last asked. */
  take(): { readonly calls: number; readonly inARow: number };
  stop(): Promise<void>;
};

export async function startSlowNode(url: string, delayMs: number): Promise<SlowNode> {
  const seen = { calls: 0, inARow: 0, answered: 0 };
  const forward = async (body: string): Promise<string> => {
    const { method } = JSON.parse(body) as { readonly method?: string };
    const counts = !background.has(method ?? '');
    const depth = seen.answered + 1;
    if (counts) {
      seen.calls += 1;
      seen.inARow = Math.max(seen.inARow, depth);
    }
    await after(delayMs);
    const headers = { 'content-type': 'application/json' };
    const answer = await (await fetch(url, { method: 'POST', headers, body })).text();
    if (counts) seen.answered = Math.max(seen.answered, depth);
    return answer;
  };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      forward(Buffer.concat(chunks).toString()).then(
        (answer) => response.setHeader('content-type', 'application/json').end(answer),
        () => response.destroy(),
      );
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the node has no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    take() {
      const { calls, inARow } = seen;
      Object.assign(seen, { calls: 0, inARow: 0, answered: 0 });
      return { calls, inARow };
    },
    stop: () =>
      new Promise<void>((stopped) => {
        server.close(() => stopped()).closeAllConnections();
      }),
  };
}
