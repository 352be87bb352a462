import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A proxy in front of a PostgreSQL server. */
export type CommitCutter = {
  readonly port: number;
  /** The next COMMIT reaches the server; its answer does not come back, and the connection breaks. */
  cutNextCommit(): void;
  stop(): Promise<void>;
};

export async function startCommitCutter(serverPort: number): Promise<CommitCutter> {
  const sockets = new Set<Socket>();
  let cuts = 0;
  const proxy = createServer((client) => {
    const server = connect(serverPort, '127.0.0.1');
    let isCut = false;
    for (const socket of [client, server]) {
      sockets.add(socket);
      socket
        .on('error', () => {})
        .on('close', () => {
          client.destroy();
          server.destroy();
        });
    }
    client.on('data', (bytes) => {
      if (cuts > 0 && bytes.includes('COMMIT')) {
        cuts -= 1;
        isCut = true;
      }
      server.write(bytes);
    });
    server.on('data', (bytes) => {
      if (isCut) client.destroy();
      else client.write(bytes);
    });
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return {
    port: (proxy.address() as AddressInfo).port,
    cutNextCommit: () => {
      cuts += 1;
    },
    stop: async () => {
      for (const socket of sockets) socket.destroy();
      proxy.close();
      await once(proxy, 'close');
    },
  };
}
