import { exposeChain } from '../../standalone/dev-chain/expose.js';
import { startDevChain, type DevChain } from '../chain/support/dev-chain.js';

/** A dev chain on this machine that pods reach. */
export type ReachableChain = {
  readonly devChain: DevChain;
  readonly url: string;
  readonly port: number;
  stop(): Promise<void>;
};

/** Open on the one address of this machine that the cluster's pods reach. */
export async function startReachableChain(host: string): Promise<ReachableChain> {
  const devChain = await startDevChain();
  const { port, stop } = await exposeChain(devChain.url, { host, port: 0 });
  return {
    devChain,
    port,
    url: `http://${host}:${port}`,
    async stop() {
      await stop();
      await devChain.stop();
    },
  };
}
