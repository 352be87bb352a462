import { createChains } from '../../adapters/chain/chains.js';
import { silentLogger } from '../../core/log.js';
import { noMetrics } from '../../core/metrics.js';
import type { MasterKeys } from '../../core/secrets.js';
import { createOperator } from '../../operator/operator.js';
import type { OperatorDeps } from '../../operator/operator-deps.js';

/** The master key from which the tests derive API keys. */
export const masterKeys: MasterKeys = {
  current: Buffer.alloc(32, 1),
  webhook: Buffer.alloc(32, 2),
};

/**
 * The real operator over a chain that does not answer: serving does not wait for the chain. Resolves when everything
 * present is known.
 */
export async function startTestOperator(
  deps: Pick<OperatorDeps, 'resources' | 'configs' | 'clock'> & Partial<OperatorDeps>,
): Promise<{ stop(): Promise<void> }> {
  const chains = createChains({
    clock: deps.clock,
    log: silentLogger,
    metrics: noMetrics,
    timeoutMs: 1000,
  });
  const operator = createOperator({
    chains,
    signers: { get: () => undefined },
    masterKeys,
    connectionSecrets: { write: async () => 'unchanged' },
    rpcUrlOf: ({ chainId }, apiKey) => `http://127.0.0.1/api/v2/${chainId}/${apiKey}`,
    log: silentLogger,
    metrics: noMetrics,
    ...deps,
  });
  await operator.start();
  return {
    stop: async () => {
      await operator.stop();
      await chains.stop();
    },
  };
}
