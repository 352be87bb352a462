import type { Chains } from '../../chain/chains.js';
import { DomainError } from '../../errors.js';
import type { Logger } from '../../log.js';
import type { Clock } from '../../units/time.js';
import type { Estimate, EstimateRequest, GasEstimator } from '../../userop/estimator.js';
import { estimateByBundler } from './bundler.js';
import {
  createSimulator,
  OverridesUnsupported,
  estimationFailed,
  type Simulator,
} from './simulate-handle-op.js';
import { simulateLimits } from './simulation.js';

export type EstimatorDeps = {
  readonly chains: Chains;
  /** How a chain is reached now; undefined when it is not served. Part of a ChainConfig. */
  readonly endpoint: (chainId: number) => EstimatorEndpoint | undefined;
  readonly clock: Clock;
  readonly log: Logger;
};

export type EstimatorEndpoint = {
  readonly rpc: { readonly urls?: readonly string[]; readonly file?: string };
  readonly bundlerUrl?: string;
};

/**
 * Gas limits by our own simulation, which needs nothing but an Ethereum node with state overrides; where the node has
 * none, by the chain's bundler. Throws DomainError ESTIMATION_FAILED with the EntryPoint's reason, UNAVAILABLE when
 * nobody answers.
 */
export function createGasEstimator({ chains, endpoint, clock, log }: EstimatorDeps): GasEstimator {
  // Per chain connection and EntryPoint, because a simulator remembers what its node cannot do.
  const simulators = new WeakMap<object, Map<string, Simulator>>();

  return {
    async estimate(request) {
      const reached = endpoint(request.chainId);
      if (reached === undefined)
        throw new DomainError('UNAVAILABLE', `chain ${request.chainId} is not configured here`, {
          reason: 'CHAIN_UNAVAILABLE',
        });
      try {
        return await simulateLimits(simulatorOf(request, reached), request);
      } catch (error) {
        if (!(error instanceof OverridesUnsupported)) throw error;
        log.warn('node has no state overrides, asking the bundler', { chainId: request.chainId });
        return withoutOverrides(request, reached);
      }
    },
  };

  function withoutOverrides(request: EstimateRequest, { bundlerUrl }: EstimatorEndpoint): Promise<Estimate> {
    if (bundlerUrl === undefined)
      throw estimationFailed('the chain node knows no state overrides, and no bundlerUrl is configured');
    const bundler = chains.get({ chainId: request.chainId, rpc: { urls: [bundlerUrl] } });
    return estimateByBundler(bundler, request);
  }

  function simulatorOf(request: EstimateRequest, { rpc }: EstimatorEndpoint): Simulator {
    const chain = chains.get({ chainId: request.chainId, rpc });
    const known = simulators.get(chain) ?? new Map<string, Simulator>();
    simulators.set(chain, known);
    const existing = known.get(request.entryPoint);
    if (existing !== undefined) return existing;
    const simulator = createSimulator(chain, request.entryPoint, request.entryPointVersion, clock);
    known.set(request.entryPoint, simulator);
    return simulator;
  }
}
