import type { Logger } from '../../core/log.js';
import type { Estimate, EstimateRequest, GasEstimator } from '../../core/userop/estimator.js';
import { estimateByBundler } from './bundler.js';
import { OverridesUnsupported, estimationFailed } from './simulate-handle-op.js';
import { createSimulators, type Reached, type SimulatorsDeps } from './simulators.js';
import { simulateLimits } from './simulation.js';

export type EstimatorDeps = SimulatorsDeps & { readonly log: Logger };

/**
 * Gas limits by our own simulation, which needs only an Ethereum node with state overrides. If the node does not
 * support them, the chain's bundler estimates. Throws DomainError ESTIMATION_FAILED with the EntryPoint's reason, and
 * UNAVAILABLE when neither answers or the paymaster has too many running simulations.
 */
export function createGasEstimator({ log, chains, ...deps }: EstimatorDeps): GasEstimator {
  const withSimulator = createSimulators({ chains, ...deps });

  return {
    estimate: (request) =>
      withSimulator(request, async (reached) => {
        try {
          return await simulateLimits(reached.simulate, request);
        } catch (error) {
          if (!(error instanceof OverridesUnsupported)) throw error;
          log.warn('node has no state overrides, asking the bundler', { chainId: request.chainId });
          return withoutOverrides(request, reached);
        }
      }),
  };

  function withoutOverrides(request: EstimateRequest, { bundlerUrl }: Reached): Promise<Estimate> {
    if (bundlerUrl === undefined)
      throw estimationFailed('the chain node knows no state overrides, and no bundlerUrl is configured');
    const bundler = chains.get({
      chainId: request.chainId,
      rpc: { urls: [bundlerUrl] },
      lane: 'simulations',
    });
    return estimateByBundler(bundler, request);
  }
}
