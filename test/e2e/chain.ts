import { connect, createServer, type Server } from 'node:net';
import { startDevChain, type DevChain } from '../chain/support/dev-chain.js';

/** A dev chain on this machine that pods reach. */
export type ReachableChain = {
  readonly devChain: DevChain;
  readonly url: string;
  readonly port: number;
  stop(): Promise<void>;
};

/** anvil listens on loopback only; a forwarder opens it on the one address that the cluster's pods reach. */
export async function startReachableChain(host: string): Promise<ReachableChain> {
  const devChain = await startDevChain();
  const target = Number(new URL(devChain.url).port);
  const forwarder = createServer((socket) => {
    const upstream = connect(target, '127.0.0.1');
    socket.on('error', () => upstream.destroy());
    upstream.on('error', () => socket.destroy());
    socket.pipe(upstream).pipe(socket);
  });
  const port = await listen(forwarder, host);
  return {
    devChain,
    port,
    url: `http://${host}:${port}`,
    async stop() {
      forwarder.close();
      await devChain.stop();
    },
  };
}

function listen(server: Server, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, host, () => {
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : 0);
    });
  });
}
