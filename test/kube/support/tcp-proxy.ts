import { connect, createServer, type Socket } from 'node:net';

/** Passes bytes to a server and back, and breaks connections on command. TLS and HTTP stay those of client and server. */
export type TcpProxy = {
  readonly port: number;
  /** Connections that clients have opened so far. */
  readonly opened: () => number;
  /** Open connections end with a reset. */
  cut(): void;
  /** Open connections stay open, and nothing passes any longer in either direction. */
  stall(): void;
  /** The same, and the server's end is gone: what a client of a machine that lost its power sees. */
  halfOpen(): void;
  /** New connections: `pass`, `reset` them, or accept them and never answer (`mute`). */
  accept(how: 'pass' | 'reset' | 'mute'): void;
  stop(): Promise<void>;
};

type Pair = { readonly client: Socket; readonly server: Socket; isSilent: boolean };

export async function startTcpProxy(target: {
  readonly host: string;
  readonly port: number;
}): Promise<TcpProxy> {
  const pairs = new Set<Pair>();
  const sockets = new Set<Socket>();
  let accepts: 'pass' | 'reset' | 'mute' = 'pass';
  let opened = 0;

  const listener = createServer((client) => {
    opened += 1;
    keep(client);
    if (accepts === 'reset') client.resetAndDestroy();
    else if (accepts === 'pass') join(client);
  });

  function join(client: Socket): void {
    const server = connect(target.port, target.host);
    keep(server);
    const pair: Pair = { client, server, isSilent: false };
    pairs.add(pair);
    client.on('data', (chunk) => pair.isSilent || server.write(chunk));
    server.on('data', (chunk) => pair.isSilent || client.write(chunk));
    client.on('close', () => {
      pairs.delete(pair);
      server.destroy();
    });
    server.on('close', () => pair.isSilent || client.destroy());
  }

  function keep(socket: Socket): void {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
  }

  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const address = listener.address();
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port');

  return {
    port: address.port,
    opened: () => opened,
    cut() {
      for (const { client } of pairs) client.resetAndDestroy();
    },
    stall() {
      for (const pair of pairs) pair.isSilent = true;
    },
    halfOpen() {
      for (const pair of pairs) {
        pair.isSilent = true;
        pair.server.destroy();
      }
    },
    accept(how) {
      accepts = how;
    },
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
}
