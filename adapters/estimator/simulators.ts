import type { Chain, Chains } from '../../core/chain/chain.js';
import type { DataFeeSpec } from '../../core/chain/data-fee/spec.js';
import type { ChainConfig } from '../../core/config/chain-config.js';
import { DomainError } from '../../core/errors.js';
import type { Clock } from '../../core/units/time.js';
import type { UserOperation } from '../../core/entry-point/user-operation.js';
import { FairSlots, type SlotLimits, SlotsBusy } from '../fair-slots.js';
import { createSimulator, estimationFailed, type Simulator } from './simulate-handle-op.js';
import { parseQuantity } from '../chain/wire.js';
import type { SimulationTarget } from '../../core/userop/estimator.js';

export type SimulatorsDeps = {
  readonly chains: Chains;
  /** How to reach a chain now; undefined when it is not served. Part of a ChainConfig. */
  readonly endpoint: (chainId: number) => EstimatorEndpoint | undefined;
  readonly clock: Clock;
};

type EstimatorEndpoint = {
  readonly rpc: { readonly urls?: readonly string[]; readonly file?: string };
  readonly bundlers?: ChainConfig['bundlers'];
  readonly dataFee?: Pick<DataFeeSpec, 'kind'>;
};

/** Where to simulate, and which operation; none when only views of tokens are read. */
type Simulated = SimulationTarget & { readonly op?: Pick<UserOperation, 'sender' | 'eip7702Auth'> };

/** One EntryPoint and how to reach it now. */
export type Reached = {
  readonly chain: Chain;
  /** Undefined: none. */
  readonly bundlers: ChainConfig['bundlers'] | undefined;
  /** True when only the bundler knows what the chain charges for posted data. */
  readonly asksBundlerForDataFee: boolean;
  readonly simulate: Simulator;
};

/**
 * Runs `work` in the paymaster's turn at the chain. Throws UNAVAILABLE when the turn does not come in time; else what
 * `work` throws.
 */
type WithSimulator = <T>(target: Simulated, work: (reached: Reached) => Promise<T>) => Promise<T>;

/**
 * Requests of one chain that are simulated at once. One paymaster gets at most a fifth of them: a node is the slowest
 * thing that a request can wait for, and anybody with a key can ask for a simulation.
 */
const simulationsPerChain: SlotLimits = { slots: 50, perKey: 10, waitingPerKey: 128, maxWaitMs: 2000 };

/**
 * Simulators per chain connection and EntryPoint, kept because a simulator remembers what its node cannot do. Throws
 * UNAVAILABLE for a chain that is not served.
 */
export function createSimulators({ chains, endpoint, clock }: SimulatorsDeps): WithSimulator {
  const simulators = new WeakMap<object, Map<string, Simulator>>();
  const slots = new Map<number, FairSlots>();

  return async (target, work) => {
    const reached = reach(target);
    try {
      return await ensureSlots(target.chainId).run(target.paymasterId, async () => {
        const { op } = target;
        const [result] = await Promise.all([work(reached), op && requireUsable(reached.chain, op)]);
        return result;
      });
    } catch (error) {
      if (!(error instanceof SlotsBusy)) throw error;
      throw new DomainError('UNAVAILABLE', `Too many simulations on chain ${target.chainId} wait.`, {
        reason: 'SIMULATIONS_BUSY',
        retryAfterSeconds: 1,
      });
    }
  };

  function ensureSlots(chainId: number): FairSlots {
    const known = slots.get(chainId) ?? new FairSlots(simulationsPerChain);
    slots.set(chainId, known);
    return known;
  }

  function reach({ chainId, entryPoint, entryPointVersion }: SimulationTarget): Reached {
    const reached = endpoint(chainId);
    if (reached === undefined)
      throw new DomainError('UNAVAILABLE', `chain ${chainId} is not configured here`, {
        reason: 'CHAIN_UNAVAILABLE',
      });
    const chain = chains.get({ chainId, rpc: reached.rpc, lane: 'simulations' });
    const known = simulators.get(chain) ?? new Map<string, Simulator>();
    simulators.set(chain, known);
    const simulate = known.get(entryPoint) ?? createSimulator(chain, entryPoint, entryPointVersion, clock);
    known.set(entryPoint, simulate);
    const asksBundlerForDataFee = reached.dataFee?.kind === 'Bundler';
    return { chain, bundlers: reached.bundlers, asksBundlerForDataFee, simulate };
  }
}

/**
 * Simulations put the delegate's code in the place of the sender's, as a bundle with the authorization would. A chain
 * accepts an authorization only while its nonce equals the sender's. Throws ESTIMATION_FAILED when the chain would
 * ignore the authorization, unless the sender has this delegate already.
 */
async function requireUsable(
  chain: Chain,
  { sender, eip7702Auth }: Pick<UserOperation, 'sender' | 'eip7702Auth'>,
): Promise<void> {
  if (eip7702Auth === undefined) return;
  const count = await chain.request('eth_getTransactionCount', [sender, 'latest']);
  const nonce = parseQuantity(count, 'result of eth_getTransactionCount');
  if (nonce === eip7702Auth.nonce) return;
  if ((await chain.code(sender)) === `0xef0100${eip7702Auth.address.slice(2)}`) return;
  throw estimationFailed(
    `eip7702Auth is for nonce ${eip7702Auth.nonce} of its signer, whose next is ${nonce}: the chain would ignore it`,
  );
}
