import type { Address, AddressKey } from '../units/address.js';
import type { Hex } from '../units/hex.js';
import type { EntryPointVersion, FinalUserOperation } from '../userop/user-operation.js';

export const layoutIds = [
  'vendor-1.1.0',
  'vendor-2.x',
  'singleton-0.6',
  'singleton-0.7',
  'singleton-0.8',
  'verifying-0.7',
] as const;
export type LayoutId = (typeof layoutIds)[number];

/** Paymaster gas limits of EntryPoint 0.7+, constants of the layout and mode; 0 on 0.6. */
export type PaymasterGas = {
  readonly paymasterVerificationGasLimit: bigint;
  readonly paymasterPostOpGasLimit: bigint;
};

/** What is signed besides the operation itself. */
export type SponsorshipTerms = {
  readonly chainId: number;
  readonly paymaster: Address;
  /** On-chain paymasterId; layouts without balances per sponsor ignore it. */
  readonly fundingAddress: AddressKey;
  /** Unix seconds, 48 bits. */
  readonly validUntil: number;
  readonly validAfter: number;
  readonly options: { readonly priceMarkup: number; readonly unaccountedGas: number };
};

/** Balances that an operation may draw on, in wei, worst case. */
export type DepositNeed = {
  /** From the contract's deposit in the EntryPoint: the required prefund. */
  readonly entryPoint: bigint;
  /** From the sponsor's own balance inside the contract; undefined where the contract keeps none. */
  readonly funding: bigint | undefined;
};

/**
 * How one deployed paymaster contract is spoken to in mode SPONSORED. Pure and synchronous; hot path.
 * Encoders are pinned by vectors of third-party contracts (`test/vectors`) and compared with `getHash` on chain.
 */
export type SponsorshipCodec = {
  readonly gas: (options: SponsorshipTerms['options']) => PaymasterGas;
  /** Least verificationGasLimit (0.6) that the contract accepts; 0 where it does not care. */
  readonly minVerificationGasLimit: bigint;
  readonly need: (op: FinalUserOperation, options: SponsorshipTerms['options']) => DepositNeed;
  /** The contract's `getHash` of the operation and terms: 32 bytes, before the EIP-191 prefix. */
  readonly hash: (op: FinalUserOperation, terms: SponsorshipTerms) => Uint8Array;
  /** The whole `paymasterAndData` with a 65-byte r‖s‖v signature (v 27 or 28). */
  readonly encode: (op: FinalUserOperation, terms: SponsorshipTerms, signature: Uint8Array) => Hex;
  /** Terms and signature of data made by `encode`; throws RangeError on other bytes. */
  readonly decode: (paymasterAndData: Hex) => DecodedSponsorship;
  /** Call data of the contract's own hash function, to compare with `hash` by eth_call. */
  readonly getHashCall: (op: FinalUserOperation, terms: SponsorshipTerms) => Hex;
  /** Read-only calls for the activation check: is `signer` authorised, which EntryPoint, which balance. */
  readonly signerCall: (signer: Address) => {
    readonly data: Hex;
    readonly isAuthorised: (result: Hex) => boolean;
  };
  readonly fundingBalanceCall: ((fundingAddress: AddressKey) => Hex) | undefined;
};

export type DecodedSponsorship = {
  readonly paymaster: AddressKey;
  readonly validUntil: number;
  readonly validAfter: number;
  readonly fundingAddress?: AddressKey;
  readonly priceMarkup?: number;
  readonly paymasterGas?: PaymasterGas;
  readonly signature: Hex;
};

export type Layout = {
  readonly id: LayoutId;
  readonly entryPointVersion: EntryPointVersion;
  readonly title: string;
  readonly sponsorship: SponsorshipCodec;
  /** Mode ERC20 has its own codec; added by its issue. */
  readonly supportsTokenMode: boolean;
  /** Topic and decoder of the event by which the contract itself names the sponsor it charged, where it has one. */
  readonly chargeEvent?: ChargeEvent;
};

export type ChargeEvent = {
  readonly topic0: Hex;
  readonly fundingAddress: (log: { readonly topics: readonly Hex[]; readonly data: Hex }) => AddressKey;
};
