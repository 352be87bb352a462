import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** What happens to the next second trip of a turn, which writes and commits. */
export type Fault = 'none' | 'lost-on-the-way' | 'answer-lost' | 'held';

/** A connection to PostgreSQL that breaks where it hurts. */
export type PostgresProxy = {
  readonly url: string;
  /** Of the next second trip; after it the connection works again. */
  fail(fault: Fault): void;
  /** Resolves when the fault has happened. */
  happened(): Promise<void>;
  /** Sends what was held. */
  release(): void;
  /** Every connection that there is breaks at its next use, as after a failover whose end of the connection has not arrived. */
  breakAtNextUse(): void;
  stop(): Promise<void>;
};

export async function startProxy(url: string): Promise<PostgresProxy> {
  const target = new URL(url);
  let fault: Fault = 'none';
  let happened = Promise.withResolvers<void>();
  let held: (() => void) | undefined;
  const sockets = new Set<Socket>();
  let connections = 0;
  let brokenUpTo = 0;
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    const number = (connections += 1);
    let isAnswerLost = false;
    const cut = (): void => {
      client.destroy();
      upstream.destroy();
      happened.resolve();
    };
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        client.destroy();
        upstream.destroy();
      });
    }
    client.on('data', (bytes: Buffer) => {
      if (number <= brokenUpTo) {
        client.resetAndDestroy();
        return;
      }
      // Only a second trip of a turn writes the writer's row.
      if (fault === 'none' || !bytes.includes('write-writer')) return void upstream.write(bytes);
      const now = fault;
      fault = 'none';
      if (now === 'lost-on-the-way') return cut();
      if (now === 'answer-lost') isAnswerLost = true;
      if (now === 'held') {
        held = () => upstream.write(bytes);
        happened.resolve();
        return;
      }
      upstream.write(bytes);
    });
    upstream.on('data', (bytes: Buffer) => {
      if (isAnswerLost) {
        // The tag of the commit is the last but one thing that the server says.
        if (bytes.includes('COMMIT')) cut();
        return;
      }
      client.write(bytes);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const through = new URL(url);
  through.port = String((server.address() as AddressInfo).port);
  return {
    url: through.href,
    fail(next) {
      fault = next;
      happened = Promise.withResolvers();
    },
    happened: () => happened.promise,
    release: () => held?.(),
    breakAtNextUse() {
      brokenUpTo = connections;
    },
    async stop() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
