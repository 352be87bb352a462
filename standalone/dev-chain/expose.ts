import { connect, createServer } from 'node:net';
import { listen } from '../../adapters/listen.js';

/** A listener that passes connections to `host` and `port` (0: a free one) on to the loopback port of a dev chain. */
type Exposed = { readonly port: number; stop(): Promise<void> };

/** Makes a dev chain reachable, since anvil listens on loopback only. Anybody who reaches the address may do anything with the chain. */
export async function exposeChain(
  url: string,
  at: { readonly host: string; readonly port: number },
): Promise<Exposed> {
  const target = Number(new URL(url).port);
  const forwarder = createServer((socket) => {
    const upstream = connect(target, '127.0.0.1');
    socket.on('error', () => upstream.destroy());
    upstream.on('error', () => socket.destroy());
    socket.on('close', () => upstream.destroy());
    socket.pipe(upstream).pipe(socket);
    open.add(socket.once('close', () => open.delete(socket)));
  });
  const open = new Set<{ destroy(): unknown }>();
  return {
    port: await listen(forwarder, at.port, at.host),
    stop: () =>
      new Promise((done) => {
        forwarder.close(() => done());
        for (const socket of open) socket.destroy();
      }),
  };
}
