import type { Chains } from '../../chain/chains.js';
import type { Chain } from '../../chain/chain.js';
import { DomainError } from '../../errors.js';
import type { Address } from '../../units/address.js';
import type { Clock } from '../../units/time.js';
import type { EntryPointVersion } from '../../userop/user-operation.js';
import { createSimulator, type Simulator } from './simulate-handle-op.js';

export type SimulatorsDeps = {
  readonly chains: Chains;
  /** How a chain is reached now; undefined when it is not served. Part of a ChainConfig. */
  readonly endpoint: (chainId: number) => EstimatorEndpoint | undefined;
  readonly clock: Clock;
};

export type EstimatorEndpoint = {
  readonly rpc: { readonly urls?: readonly string[]; readonly file?: string };
  readonly bundlerUrl?: string;
};

export type SimulationTarget = {
  readonly chainId: number;
  readonly entryPoint: Address;
  readonly entryPointVersion: EntryPointVersion;
};

/** One EntryPoint as it is reached now. */
export type Reached = {
  readonly chain: Chain;
  readonly bundlerUrl: string | undefined;
  readonly simulate: Simulator;
};

/**
 * Simulators per chain connection and EntryPoint, kept because a simulator remembers what its node cannot do. Throws
 * UNAVAILABLE for a chain that is not served.
 */
export function createSimulators({
  chains,
  endpoint,
  clock,
}: SimulatorsDeps): (target: SimulationTarget) => Reached {
  const simulators = new WeakMap<object, Map<string, Simulator>>();

  return ({ chainId, entryPoint, entryPointVersion }) => {
    const reached = endpoint(chainId);
    if (reached === undefined)
      throw new DomainError('UNAVAILABLE', `chain ${chainId} is not configured here`, {
        reason: 'CHAIN_UNAVAILABLE',
      });
    const chain = chains.get({ chainId, rpc: reached.rpc });
    const known = simulators.get(chain) ?? new Map<string, Simulator>();
    simulators.set(chain, known);
    const simulate = known.get(entryPoint) ?? createSimulator(chain, entryPoint, entryPointVersion, clock);
    known.set(entryPoint, simulate);
    return { chain, bundlerUrl: reached.bundlerUrl, simulate };
  };
}
