import { createServer, type Server } from 'node:http';

/** What a bundler of tests does with a call: a result, an error, silence, a closed connection, or an answer of 100 MB. */
export type Reply =
  | { readonly result: unknown }
  | { readonly error: { readonly code: number; readonly message: string; readonly data?: unknown } }
  | 'stall'
  | 'close'
  | 'huge';

export type HttpBundler = {
  readonly url: string;
  readonly host: string;
  /** Calls that have arrived, the newest last. */
  readonly calls: { readonly method: string; readonly params: readonly unknown[] }[];
  /** Bytes of huge answers that were taken from it. */
  sent: number;
  reply: (method: string, params: readonly unknown[]) => Reply;
  /** Closes every connection, those with a call that it left open too. */
  hangUp(): void;
  stop(): Promise<void>;
};

const megabyte = 'f'.repeat(1_000_000);

/** A bundler over HTTP that answers as the test says. */
export async function startBundler(reply: HttpBundler['reply']): Promise<HttpBundler> {
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      const { method, params } = JSON.parse(body);
      bundler.calls.push({ method, params });
      const answer = bundler.reply(method, params);
      if (answer === 'close') request.socket.destroy();
      if (answer === 'huge') sendHuge();
      if (typeof answer === 'object') response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, ...answer }));
    });

    function sendHuge(left = 100): void {
      if (response.destroyed) return;
      if (left === 0) return void response.end('"}');
      bundler.sent += megabyte.length;
      response.write(left === 100 ? '{"jsonrpc":"2.0","id":1,"result":"' : megabyte, () =>
        sendHuge(left - 1),
      );
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const host = `127.0.0.1:${portOf(server)}`;
  const bundler: HttpBundler = {
    url: `http://${host}`,
    host,
    calls: [],
    sent: 0,
    reply,
    hangUp: () => server.closeAllConnections(),
    async stop() {
      bundler.hangUp();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return bundler;
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the bundler has no port');
  return address.port;
}
