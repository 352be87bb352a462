import type { AddressKey } from '../../../core/units/address.js';
import type { Hex } from '../../../core/units/hex.js';
import type { EntryPointVersion } from '../../../core/entry-point/version.js';
import type { FinalUserOperation } from '../../../core/entry-point/user-operation.js';

/** A paymaster contract: everything that the model of the EntryPoint needs to know about it. */
export type ContractSpec = {
  readonly address: AddressKey;
  readonly entryPoint: AddressKey;
  readonly version: EntryPointVersion;
  /** `hybrid`: charges a balance inside itself, and takes tokens in validation where they are allowed. */
  readonly kind: 'plain' | 'hybrid';
  /** How its owner changes the keys that it accepts: one key is replaced, several are added and removed, or none can change. */
  readonly keys: 'one' | 'several' | 'fixed';
  /** Whether it emits an event for each sponsorship, in validation. */
  readonly reportsSponsorships: boolean;
  /** Pays in mode ERC20 out of its balance inside a hybrid contract. */
  readonly tokenAccount: AddressKey;
};

/** What an account does with its tokens when its operation is executed. */
export type AccountCall =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'fail' }
  /** Sets the allowance of the paymaster contract. */
  | { readonly kind: 'approve'; readonly contract: AddressKey; readonly amount: bigint }
  /** Moves tokens to an address from which nobody can recover them. */
  | { readonly kind: 'send'; readonly amount: bigint };

/** The terms that the paymaster signed with the operation, as the contract reads them. */
export type OperationTerms = {
  readonly mode: 'SPONSORED' | 'ERC20';
  readonly fundingAddress?: AddressKey;
  readonly validUntil: number;
  /** Parts per million; only hybrid contracts on 0.7. */
  readonly markup: bigint;
  /** Mode ERC20: the contract refuses an operation that does not let it take the tokens in validation. */
  readonly inAdvance?: true;
  /** Mode ERC20: base units per 10^18 wei. */
  readonly rate: bigint;
  /** Mode ERC20 of a plain contract: tokens that validation takes; the rest, or the difference back, comes after the call. */
  readonly preFund?: bigint;
};

/** An operation as a bundler has it. */
export type BundledOperation = {
  readonly contract: AddressKey;
  readonly op: FinalUserOperation;
  readonly paymasterAndData: Hex;
  readonly terms: OperationTerms;
  /** Whether the signature in the data is by the contract's signer and covers exactly these bytes. */
  readonly isSigned: boolean;
  /** Which of the service's keys has signed; absent: the first. */
  readonly signedBy?: number;
  readonly call: AccountCall;
};

/**
 * How a bundle reaches its EntryPoint: the sender chooses. `relay`: a contract calls `handleOps`, so the call is not in the
 * input of the transaction. `wrapped`: offsets in the input are negative, modulo 2^256. `fat`: what is larger than anybody reads, its
 * receipt, because the receiver of the gas emits very many logs, or its input.
 */
export type Delivery = {
  readonly way: 'direct' | 'relay' | 'wrapped';
  readonly fat: 'nothing' | 'receipt' | 'input';
};

export const direct: Delivery = { way: 'direct', fat: 'nothing' };

/** Everything that happens on chain besides empty blocks, each in a separate block. */
export type ChainAction =
  | {
      readonly do: 'bundle';
      readonly entryPoint: AddressKey;
      readonly operations: readonly BundledOperation[];
      /** Absent: {@link direct}. */
      readonly delivery?: Delivery;
    }
  /** Raises a contract's deposit, or with a wallet the balance inside the contract (and with it the deposit). */
  | {
      readonly do: 'deposit';
      readonly contract: AddressKey;
      readonly wallet?: AddressKey;
      readonly amount: bigint;
    }
  /** A sponsor takes out of its balance inside a hybrid contract. */
  | {
      readonly do: 'withdraw';
      readonly contract: AddressKey;
      readonly wallet: AddressKey;
      readonly amount: bigint;
    }
  /** The owner lets a contract accept one of the service's keys, or refuse it. */
  | {
      readonly do: 'signer';
      readonly contract: AddressKey;
      readonly key: number;
      readonly isAccepted: boolean;
    }
  /** `incrementNonce`: spends a nonce, and no event says so. */
  | {
      readonly do: 'spend-nonce';
      readonly entryPoint: AddressKey;
      readonly sender: AddressKey;
      readonly key: bigint;
    }
  /** Somebody gives tokens to an account, or the account moves or allows its tokens in an ordinary transaction. */
  | { readonly do: 'mint'; readonly sender: AddressKey; readonly amount: bigint }
  | { readonly do: 'tokens'; readonly sender: AddressKey; readonly call: AccountCall };

/** The outcome of one operation. */
export type OperationResult = {
  readonly operation: BundledOperation;
  readonly userOpHash: Hex;
  readonly success: boolean;
  /** Wei that the contract's deposit paid. */
  readonly cost: bigint;
  readonly gasUsed: bigint;
  /** Wei that the balance inside the contract paid; undefined where it keeps none. */
  readonly charge: bigint | undefined;
  /** Wei of the charge that a hybrid contract credits to its token account. */
  readonly premium: bigint;
  /** Whether the contract itself reported its charge. */
  readonly isChargeReported: boolean;
  /** Mode ERC20: whether the contract reports that tokens arrived, and how many. */
  readonly tokens: bigint | undefined;
  /** Tokens that a hybrid contract reports as left unpaid; 0 where it reports nothing. */
  readonly owed: bigint;
  /** Tokens that validation took and the contract keeps, although it reports nothing because its postOp failed. */
  readonly kept: bigint;
};

/** A bundle is mined whole or not at all. */
export type ActionResult =
  | { readonly outcome: 'done'; readonly operations: readonly OperationResult[] }
  | { readonly outcome: 'failed'; readonly index: number; readonly code: string };

/** Gas that the EntryPoint asks the paymaster for in advance. Written from the contracts, apart from `core`. */
export function prefundOf({ op, paymasterAndData }: BundledOperation, version: EntryPointVersion): bigint {
  const { callGasLimit, verificationGasLimit, preVerificationGas, maxFeePerGas } = op;
  if (version === '0.6')
    return (callGasLimit + 3n * verificationGasLimit + preVerificationGas) * maxFeePerGas;
  const [verification, postOp] = paymasterGasIn(paymasterAndData);
  return (callGasLimit + verificationGasLimit + preVerificationGas + verification + postOp) * maxFeePerGas;
}

/** paymasterVerificationGasLimit and paymasterPostOpGasLimit of data for 0.7 and later. */
export function paymasterGasIn(paymasterAndData: Hex): readonly [bigint, bigint] {
  const at = (from: number): bigint =>
    BigInt(`0x${paymasterAndData.slice(2 + from * 2, 2 + (from + 16) * 2)}`);
  return [at(20), at(36)];
}

export function gasPriceOf(
  { maxFeePerGas, maxPriorityFeePerGas }: FinalUserOperation,
  baseFee: bigint,
): bigint {
  const offered = maxPriorityFeePerGas + baseFee;
  return offered < maxFeePerGas ? offered : maxFeePerGas;
}
