import type { Address } from '../units/address.js';
import type { EntryPointVersion } from './version.js';

/** Who asks for a simulation, and of which EntryPoint. */
export type SimulationTarget = {
  /** The paymaster that asks: no paymaster gets more than its share of the simulations. */
  readonly paymasterId: string;
  readonly chainId: number;
  readonly entryPoint: Address;
  readonly entryPointVersion: EntryPointVersion;
};
