import type { LoadResult, Caller, WalletPod } from '../wallet-pod.js';
import type { World } from '../scenario.js';

/** Who asks while something happens: the wallet pod, 50 calls a second of its load, and customers through `caller`. */
export type Scene = {
  readonly wallet: WalletPod;
  readonly caller: Caller;
  /** RPC address of the paymaster `shop`, of the load and of customers alike. */
  readonly url: string;
};

export type Expectation = {
  readonly name: string;
  /** Which answers besides a sponsorship are right: an error's code and reason. Default: none. */
  readonly isExpected?: (answer: string) => boolean;
};

/** One step: something happens under load, and every answer was a sponsorship or an expected error, none a failed connection. */
export async function withLoad(
  { report, chain }: World,
  { wallet, url }: Pick<Scene, 'wallet' | 'url'>,
  { name, isExpected = () => false }: Expectation,
  happen: () => Promise<string>,
): Promise<void> {
  await report.step(name, async () => {
    const load = wallet.startLoad(url, chain.devChain.deployments.sponsoredContract.address);
    let result: LoadResult;
    let detail: string;
    try {
      detail = await happen();
    } finally {
      result = await load.stop();
    }
    const wrong = Object.entries(result.counts).filter(([key]) => key !== 'sponsored' && !isExpected(key));
    const summary = `${detail}; load: ${JSON.stringify(result.counts)}, p99 ${result.p99Ms} ms, slowest ${result.maxMs} ms`;
    if (wrong.length > 0)
      throw new Error(`${summary}; not expected: ${JSON.stringify(Object.fromEntries(wrong))}`);
    return summary;
  });
}

export const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
