import { connect, createServer, type Socket } from 'node:net';

/** An address that forwards to another one, as the DNS name of a primary or of a service does. */
export type Forward = {
  readonly port: number;
  /** Ends every connection; later ones go to the port that `target` then returns. */
  cut(): void;
  stop(): void;
};

/** `target` is asked for a local port with each new connection. */
export async function forward(target: () => number): Promise<Forward> {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(target(), '127.0.0.1');
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.pipe(upstream).pipe(client);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the address has no port');
  const cut = (): void => sockets.forEach((socket) => socket.destroy());
  return {
    port: address.port,
    cut,
    stop() {
      server.close();
      cut();
    },
  };
}
