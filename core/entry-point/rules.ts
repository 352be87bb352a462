import type { Address } from '../units/address.js';
import type { Hex } from '../units/hex.js';
import type { FinalUserOperation, PaymasterGas } from './user-operation.js';
import type { EntryPointVersion } from './version.js';

/** Everything in which one EntryPoint differs from another. A version is a row of these in `table.ts`. */
export type EntryPointRules = {
  readonly version: EntryPointVersion;
  /** Where it is deployed, on every chain that has the canonical one. */
  readonly address: Address;
  readonly form: OperationForm;
  readonly hasher: (place: HashPlace) => UserOpHasher;
  /**
   * Whether `initCode` may begin with the marker 0x7702 in place of a factory: the account is then an EIP-7702 delegation,
   * nothing is called to create it, and its delegate takes the place of the marker in the operation hash.
   */
  readonly readsEip7702Marker: boolean;
  /** Gas that is charged in advance when a paymaster pays. */
  readonly requiredGas: (op: FinalUserOperation, paymasterGas: PaymasterGas) => bigint;
  /** The fine for gas that was asked for and not used; undefined where there is none. It goes to the bundler. */
  readonly unusedGasFine: ((unusedCall: bigint, unusedPostOp: bigint) => bigint) | undefined;
  /** Whether an account whose callData begins with `executeUserOp` is called with the whole operation. */
  readonly passesWholeOperation: boolean;
  readonly simulation: SimulationRules;
  readonly errors: EntryPointErrors;
};

/** How an operation is written: for the contract, and as wallets and bundlers exchange it. */
export type OperationForm = {
  readonly name: 'unpacked' | 'packed';
  /** The operation's tuple as an ABI type, and its values in that order. */
  readonly abiType: string;
  readonly abiValues: (op: FinalUserOperation, paymasterAndData: Hex) => readonly unknown[];
  /** Fields for `initCode`, none where it is empty and may be left out. */
  readonly renderInitCode: (initCode: Hex) => RenderedFields;
  /** Fields for `paymasterAndData`, none where it is empty and may be left out. */
  readonly renderPaymaster: (paymasterAndData: Hex) => RenderedFields;
  /** Whether the paymaster has fields and gas limits of its own beside `paymasterAndData`. */
  readonly hasPaymasterFields: boolean;
  /** The most gas that the paymaster may use, given its data (not `0x`). */
  readonly paymasterGasOf: (op: FinalUserOperation, paymasterAndData: Hex) => bigint;
};

/** ERC-4337 field names, hex quantities without leading zeros. */
export type RenderedFields = Readonly<Record<string, unknown>>;

export type HashPlace = { readonly entryPoint: Address; readonly chainId: number };

/** `getUserOpHash`. Undefined where only the chain knows it: the delegate of an EIP-7702 account that is not shown. */
export type UserOpHasher = (op: FinalUserOperation, paymasterAndData: Hex) => Hex | undefined;

export type SimulationRules = {
  /** Artifact of an npm package whose code stands in for the EntryPoint's; undefined where it has the method itself. */
  readonly codeArtifact: string | undefined;
  /** `simulateHandleOp` and, where it answers by a revert, the error `ExecutionResult`. */
  readonly abi: readonly string[];
  readonly answersBy: 'return' | 'revert';
};

export type EntryPointErrors = {
  /** ABI of the errors by which it refuses an operation; each has a `reason`, and perhaps `inner`. */
  readonly abi: readonly string[];
  /** How the reason begins when the call had too little gas for the limits of the operation. */
  readonly outOfGas: string;
};
