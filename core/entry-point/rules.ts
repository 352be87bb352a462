import type { Address } from '../units/address.js';
import type { Hex } from '../units/hex.js';
import type { FinalUserOperation, PaymasterGas } from './user-operation.js';
import type { EntryPointVersion } from './version.js';

/** Everything that differs between EntryPoints. Each version is a row of these in `table.ts`. */
export type EntryPointRules = {
  readonly version: EntryPointVersion;
  /** Its address, the same on every chain that has the canonical one. */
  readonly address: Address;
  /** keccak-256 of its published code, see `code.ts`. */
  readonly codeHash: Hex;
  readonly form: OperationForm;
  readonly hasher: (place: HashPlace) => UserOpHasher;
  /**
   * Whether `initCode` may begin with the marker 0x7702 instead of a factory. The account is then an EIP-7702
   * delegation: nothing is called to create it, and the operation hash contains its delegate instead of the marker.
   */
  readonly readsEip7702Marker: boolean;
  /** Whether a validity window may count blocks instead of seconds: the top bit is set in both of its ends. */
  readonly readsBlockWindows: boolean;
  /** Whether an operation is valid from `validAfter` on; false: only after it. */
  readonly startsAtValidAfter: boolean;
  /** Gas that is charged in advance when a paymaster pays. */
  readonly requiredGas: (op: FinalUserOperation, paymasterGas: PaymasterGas) => bigint;
  /**
   * The fine for gas that was asked for and not used, which goes to the bundler; undefined if the EntryPoint takes no
   * fine.
   */
  readonly unusedGasFine: ((unusedCall: bigint, unusedPostOp: bigint) => bigint) | undefined;
  /** Whether the account receives the whole operation when its callData begins with `executeUserOp`. */
  readonly passesWholeOperation: boolean;
  readonly simulation: SimulationRules;
};

/** The form of an operation: for the contract, and as wallets and bundlers exchange it. */
export type OperationForm = {
  readonly name: 'unpacked' | 'packed';
  /** The tuple of the operation as an ABI type; its values are in the same order. */
  readonly abiType: string;
  readonly abiValues: (op: FinalUserOperation, paymasterAndData: Hex) => readonly unknown[];
  /** Fields for `initCode`; no fields when it is empty and may be left out. */
  readonly renderInitCode: (initCode: Hex) => RenderedFields;
  /** Fields for `paymasterAndData`; no fields when it is empty and may be left out. */
  readonly renderPaymaster: (paymasterAndData: Hex) => RenderedFields;
  /** Whether the paymaster has separate fields and gas limits besides `paymasterAndData`. */
  readonly hasPaymasterFields: boolean;
  /** The most gas that the paymaster may use, given its data (not `0x`). */
  readonly paymasterGasOf: (op: FinalUserOperation, paymasterAndData: Hex) => bigint;
};

/** ERC-4337 field names, hex quantities without leading zeros. */
export type RenderedFields = Readonly<Record<string, unknown>>;

export type HashPlace = { readonly entryPoint: Address; readonly chainId: number };

/**
 * `getUserOpHash`. Undefined when only the chain knows it (an EIP-7702 account whose delegate the operation does not
 * show), and when the EntryPoint reverts (a paymaster signature that is longer than its data).
 */
export type UserOpHasher = (op: FinalUserOperation, paymasterAndData: Hex) => Hex | undefined;

type SimulationRules = {
  /**
   * File in `contracts/artifacts/third-party` whose code replaces the EntryPoint's in a simulation; undefined when the
   * EntryPoint has the method itself.
   */
  readonly codeArtifact: string | undefined;
  /** `simulateHandleOp` and, if it answers by a revert, the error `ExecutionResult`. */
  readonly abi: readonly string[];
  readonly answersBy: 'return' | 'revert';
};
