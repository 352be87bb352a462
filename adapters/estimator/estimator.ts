import type { Chain } from '../../core/chain/chain.js';
import type { Logger } from '../../core/log.js';
import {
  NothingSimulates,
  type Estimate,
  type EstimateRequest,
  type GasEstimator,
} from '../../core/userop/estimator.js';
import { createEarlierNeeds } from './earlier-needs.js';
import { createEthCallGas, type EthCallGas } from './eth-call-gas.js';
import { estimateByBundler } from './bundler.js';
import { OverridesUnsupported, estimationFailed } from './simulate-handle-op.js';
import { createSimulators, type Reached, type SimulatorsDeps } from './simulators.js';
import { simulateLimits } from './simulation.js';

type EstimatorDeps = SimulatorsDeps & { readonly log: Logger };

/**
 * Gas limits by our own simulation, which needs only an Ethereum node with state overrides. If the node does not
 * support them, the chain's bundler estimates. Where only a bundler knows the data fee, it is asked at the same time for
 * preVerificationGas. Throws DomainError ESTIMATION_FAILED with the EntryPoint's reason, and
 * UNAVAILABLE when neither answers or the paymaster has too many running simulations.
 */
export function createGasEstimator({ log, chains, ...deps }: EstimatorDeps): GasEstimator {
  const withSimulator = createSimulators({ chains, ...deps });
  const earlier = createEarlierNeeds();
  const gasOfChains = new WeakMap<Chain, EthCallGas>();

  return {
    estimate: (request) =>
      withSimulator(request, async (reached) => {
        try {
          if (!reached.asksBundlerForDataFee) return await simulateAt(reached, request);
          const asked = askBundler(request, reached);
          const [simulated, bundlers] = await Promise.all([
            simulateAt(reached, withDataFeeFound(request, asked)),
            asked,
          ]);
          return withDataFeeOf(bundlers, simulated);
        } catch (error) {
          if (!(error instanceof OverridesUnsupported)) throw error;
          log.warn('node has no state overrides, asking the bundler', { chainId: request.chainId });
          return askBundler(request, reached);
        }
      }),
  };

  function simulateAt({ chain, simulate }: Reached, request: EstimateRequest): Promise<Estimate> {
    const gas = gasOfChains.get(chain) ?? createEthCallGas(deps.clock);
    gasOfChains.set(chain, gas);
    return simulateLimits(simulate, request, { gas, earlier });
  }

  async function askBundler(
    request: EstimateRequest,
    { bundlers, asksBundlerForDataFee }: Reached,
  ): Promise<Estimate> {
    if (bundlers === undefined)
      throw estimationFailed(
        asksBundlerForDataFee
          ? 'dataFee.kind of the Chain is Bundler, and spec.bundlers names none'
          : 'the chain node knows no state overrides, and spec.bundlers names no bundler',
        undefined,
        NothingSimulates,
      );
    const bundler = chains.get({
      chainId: request.chainId,
      rpc: bundlers,
      lane: 'bundlers',
    });
    return estimateByBundler(bundler, request);
  }
}

/** The request, whose `onCandidates` gets limits with the bundler's data fee, too. */
function withDataFeeFound(request: EstimateRequest, asked: Promise<Estimate>): EstimateRequest {
  const { onCandidates } = request;
  if (onCandidates === undefined) return request;
  return {
    ...request,
    // Without an answer of the bundler the estimate fails.
    onCandidates: (candidates) =>
      void asked
        .then((bundlers) => onCandidates(candidates.map((each) => withDataFeeOf(bundlers, each))))
        .catch(() => {}),
  };
}

/** Our own limits, with the preVerificationGas of the bundler where that is higher: it contains the data fee. */
function withDataFeeOf({ preVerificationGas: bundlers }: Estimate, simulated: Estimate): Estimate {
  return bundlers > simulated.preVerificationGas ? { ...simulated, preVerificationGas: bundlers } : simulated;
}
