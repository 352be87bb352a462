import type { ObservedStatus, Resource } from '../meta/meta.js';

export type SmartContractSpec = {
  readonly paymasterRef: { readonly name: string };
  readonly name: string;
  /** Absent means active. */
  readonly active?: boolean;
  readonly address: string;
  /** The ABI as JSON text, at most 196,608 characters. */
  readonly abi: string;
  /** Method names (all overloads) or full signatures such as `mint(address)`. Absent: no methods yet. */
  readonly whitelistedMethods?: readonly string[];
};

export type SmartContractStatus = ObservedStatus & {
  readonly active?: boolean;
  /** Names of the ABI's state-changing functions, each once, in ABI order. */
  readonly methods?: readonly string[];
  /** Selectors of the whitelisted methods. */
  readonly selectors?: readonly string[];
};

export type SmartContract = Resource<'SmartContract', SmartContractSpec, SmartContractStatus>;
