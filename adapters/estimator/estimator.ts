import type { Chain } from '../../core/chain/chain.js';
import type { Logger } from '../../core/log.js';
import {
  NothingSimulates,
  type Estimate,
  type EstimateRequest,
  type GasEstimator,
} from '../../core/userop/estimator.js';
import { createEarlierNeeds, simulateLimits } from './simulation.js';
import { createEthCallGas, type EthCallGas } from './eth-call-gas.js';
import { estimationFailed, OverridesUnsupported, withSignature } from './simulate-handle-op.js';
import { createSimulators, type Reached, type SimulatorsDeps } from './simulators.js';
import { DomainError, quote } from '../../core/errors.js';
import { eip7702Factory } from '../../core/entry-point/eip-7702.js';
import { readField } from '../../core/schema/json-value.js';
import { larger } from '../../core/units/wei.js';
import { renderUserOperation } from '../../core/userop/render.js';
import { RpcError } from '../chain/node-errors.js';
import { explainMessage } from './revert-reason.js';

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
          return withHigherDataFee(bundlers, simulated);
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
        .then((bundlers) => onCandidates(candidates.map((each) => withHigherDataFee(bundlers, each))))
        .catch(() => {}),
  };
}

/** Our own limits, with the preVerificationGas of the bundler where that is higher: it contains the data fee. */
function withHigherDataFee({ preVerificationGas: bundlers }: Estimate, simulated: Estimate): Estimate {
  return bundlers > simulated.preVerificationGas ? { ...simulated, preVerificationGas: bundlers } : simulated;
}

/** ERC-7769 codes by which a bundler refuses an operation, as opposed to failing itself. */
const refusals: ReadonlySet<number> = new Set([
  -32500, -32501, -32502, -32503, -32504, -32505, -32507, -32521, -32602,
]);

export type Bundler = Pick<Chain, 'request'>;

/**
 * Limits by a bundler's `eth_estimateUserOperationGas`: for chains whose node cannot simulate, and for roll-ups whose
 * data fee only the bundler knows. A refusal is DomainError ESTIMATION_FAILED with the bundler's words.
 */
export async function estimateByBundler(bundler: Bundler, request: EstimateRequest): Promise<Estimate> {
  const { op, entryPoint, entryPointVersion, paymasterAndData, minVerificationGasLimit } = request;
  const signed = {
    ...withSignature(op),
    // The marker of EIP-7702 in the only form that ERC-7769 knows: alto refuses the padded one.
    initCode: op.initCode === eip7702Factory ? '0x7702' : op.initCode,
  } as const;
  const rendered = renderUserOperation(signed, entryPointVersion, paymasterAndData ?? '0x');
  const answer = await ask(bundler, [rendered, entryPoint]);
  return {
    callGasLimit: gasField(answer, 'callGasLimit'),
    verificationGasLimit: larger(gasField(answer, 'verificationGasLimit'), minVerificationGasLimit),
    preVerificationGas: gasField(answer, 'preVerificationGas'),
  };
}

async function ask(bundler: Bundler, params: readonly unknown[]): Promise<unknown> {
  try {
    return await bundler.request('eth_estimateUserOperationGas', params);
  } catch (error) {
    if (!(error instanceof DomainError) || !(error.cause instanceof RpcError)) throw error;
    if (!refusals.has(error.cause.code)) throw error;
    const { text, remedy } = explainMessage(error.cause.message);
    throw estimationFailed(text, remedy);
  }
}

function gasField(answer: unknown, field: string): bigint {
  const value = readField(answer, field);
  if (typeof value === 'string' && /^0x[0-9a-fA-F]{1,32}$/.test(value)) return BigInt(value);
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return BigInt(value);
  throw new DomainError('UNAVAILABLE', `the bundler's ${field} must be a hex quantity, got ${quote(value)}`, {
    reason: 'BUNDLER_UNAVAILABLE',
  });
}
