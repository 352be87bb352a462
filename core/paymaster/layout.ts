import type { Address, AddressKey } from '../units/address.js';
import type { Hex } from '../units/hex.js';
import type { EntryPointVersion } from '../entry-point/version.js';
import type { FinalUserOperation, PaymasterGas } from '../entry-point/user-operation.js';

export const layoutIds = [
  'vendor-1.1.0',
  'vendor-2.x',
  'singleton-0.6',
  'singleton-0.7',
  'singleton-0.8',
  'verifying-0.7',
] as const;
export type LayoutId = (typeof layoutIds)[number];

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
  readonly recognise: Recognise;
  /** Call data of the contract's own hash function, to compare with `hash` by eth_call. */
  readonly getHashCall: (op: FinalUserOperation, terms: SponsorshipTerms) => Hex;
  /** Read-only calls for the activation check: is `signer` authorised, which EntryPoint, which balance. */
  readonly signerCall: (signer: Address) => {
    readonly data: Hex;
    readonly isAuthorised: (result: Hex) => boolean;
  };
  readonly fundingBalanceCall: ((fundingAddress: AddressKey) => Hex) | undefined;
};

/** What the bytes of a mined operation say of the promise that it carries. */
export type MinedPromise = {
  /** What the contract compared the signature with: `hash` of the codec, when the promise was made. */
  readonly hash: Uint8Array;
  /** Funding wallet in the data, in layouts that have one. */
  readonly fundingAddress?: AddressKey;
  /** Wei that the tokens are worth which the contract has taken in validation, at the signed rate; absent: it takes none there. */
  readonly paidInAdvance?: bigint;
};

/**
 * Reads what the contract reads and nothing else: whoever sends a bundle may pad the data, or move the signature in it.
 * Undefined for bytes of another kind; `unsigned` for those that the contract accepts without a signature.
 */
export type Recognise = (
  op: FinalUserOperation,
  paymasterAndData: Hex,
  chainId: number,
) => MinedPromise | 'unsigned' | undefined;

export type DecodedSponsorship = {
  readonly paymaster: AddressKey;
  readonly validUntil: number;
  readonly validAfter: number;
  readonly fundingAddress?: AddressKey;
  readonly priceMarkup?: number;
  readonly paymasterGas?: PaymasterGas;
  readonly signature: Hex;
};

/** What is signed besides the operation in mode ERC20. */
export type TokenTerms = {
  readonly chainId: number;
  readonly paymaster: Address;
  readonly token: AddressKey;
  /** Token base units per 10^18 wei, premium not included; at least 1. */
  readonly exchangeRate: bigint;
  /**
   * The premium as a factor: 1,000,000 is none, at most 2,000,000. Where the data has no field for it, the codec multiplies
   * it into the rate that is signed, rounded up, so that it is never counted twice.
   */
  readonly priceMarkup: number;
  /** Unix seconds, 48 bits. */
  readonly validUntil: number;
  readonly validAfter: number;
  /**
   * Demands that the tokens are taken in validation: an account that has moved them away, or allows them no longer, is
   * refused by the EntryPoint at nobody's cost. Only for contracts that were seen to do so.
   */
  readonly inAdvance?: true;
  readonly options: TokenOptions;
};

/** What a profile says about its token contract. Layouts ignore what their data has no field for. */
export type TokenOptions = {
  /** The platform wants `inAdvance` where the layout leaves it the choice: validation is given gas for a transfer. */
  readonly takesPreFund?: true;
  /** Receives the tokens, where the data names it; see `TokenCodec.namesTreasury`. */
  readonly treasury?: Address;
  /** Token base units taken on top of the gas. */
  readonly constantFee?: bigint;
  /** Token base units taken in validation already; the rest, or the difference back, after the call. */
  readonly preFund?: bigint;
  /** Gets what the worst case leaves over after the charge: the account then always pays the worst case. */
  readonly recipient?: Address;
};

/**
 * How one deployed paymaster contract is spoken to in mode ERC20, where the account pays for its gas with tokens. Pure and
 * synchronous. Terms that no contract should ever see (rate 0, a markup out of bounds, no treasury) are RangeErrors.
 */
export type TokenCodec = {
  readonly gas: (options: TokenOptions) => PaymasterGas;
  /** Least verificationGasLimit (0.6, where it bounds postOp too) with which a payment can succeed; 0 from 0.7 on. */
  readonly minVerificationGasLimit: bigint;
  /** Gas of the contract's own validation where verificationGasLimit has to cover it (0.6); 0 from 0.7 on. */
  readonly validationGas: (options: TokenOptions) => bigint;
  /** True where the data says who receives the tokens: `options.treasury` must then be given. */
  readonly namesTreasury: boolean;
  readonly hash: (op: FinalUserOperation, terms: TokenTerms) => Uint8Array;
  /** The whole `paymasterAndData` with a 65-byte r‖s‖v signature (v 27 or 28). */
  readonly encode: (op: FinalUserOperation, terms: TokenTerms, signature: Uint8Array) => Hex;
  /** Terms and signature of data made by `encode`; throws RangeError on other bytes. */
  readonly decode: (paymasterAndData: Hex) => DecodedTokenPayment;
  readonly recognise: Recognise;
  /** True where a contract of this layout may take data that nobody signed. */
  readonly acceptsUnsigned: boolean;
  readonly getHashCall: (op: FinalUserOperation, terms: TokenTerms) => Hex;
  readonly signerCall: SponsorshipCodec['signerCall'];
  /**
   * What the operation may cost the platform until the tokens arrive. `funding` is drawn from the balance of the account
   * that `tokenAccountCall` answers; undefined in layouts whose contracts pay from their EntryPoint deposit alone.
   */
  readonly need: (op: FinalUserOperation, options: TokenOptions) => DepositNeed;
  /** Of a payment `inAdvance`: what the platform still loses if the account pays nothing after its call, in wei. */
  readonly residual: (op: FinalUserOperation, terms: TokenTerms) => bigint;
  /** `tokenAccount()`: reverts in contracts that keep no balances. Undefined where no contract of the layout has it. */
  readonly tokenAccountCall: Hex | undefined;
  /** Who may receive the tokens: the contract itself, and whom the terms name. */
  readonly receivers: (terms: TokenTerms) => readonly AddressKey[];
  /** Views by which a contract names another receiver. It need not have all of them. */
  readonly receiverCalls: readonly Hex[];
  /**
   * The most token base units that the contract can take for this operation, rounded up, whatever gas it uses and whatever
   * it pays per gas up to maxFeePerGas. RangeError when the contract's own arithmetic would overflow.
   */
  readonly maxTokenCharge: (op: FinalUserOperation, terms: TokenTerms) => bigint;
  /**
   * Gas that the contract charges at the bundler's own gas price, which `eth_call` leaves at 0: a simulated payment may lack
   * as much. 0 where it charges at the operation's price.
   */
  readonly unpricedGas: bigint;
  /** First topics of the logs that `chargeOf` reads. */
  readonly chargeTopics: readonly Hex[];
  /**
   * What the operation was charged, from the contract's own events among the logs of its transaction; undefined when it
   * paid nothing at all. The logs may be of many operations and contracts: only `paymaster`'s about this hash count.
   */
  readonly chargeOf: (
    logs: readonly ChargeLog[],
    operation: { readonly paymaster: AddressKey; readonly userOpHash: Hex },
  ) => TokenCharge | undefined;
};

export type ChargeLog = { readonly address: Hex; readonly topics: readonly Hex[]; readonly data: Hex };

export type TokenCharge = { readonly token: AddressKey; readonly amount: bigint };

export type DecodedTokenPayment = {
  readonly paymaster: AddressKey;
  readonly token: AddressKey;
  /** As signed: includes the premium where `priceMarkup` is absent. */
  readonly exchangeRate: bigint;
  readonly priceMarkup?: number;
  readonly inAdvance?: true;
  readonly validUntil: number;
  readonly validAfter: number;
  readonly treasury?: AddressKey;
  readonly preFund?: bigint;
  readonly constantFee?: bigint;
  readonly recipient?: AddressKey;
  readonly paymasterGas?: PaymasterGas;
  readonly signature: Hex;
};

export type Layout = {
  readonly id: LayoutId;
  readonly entryPointVersion: EntryPointVersion;
  readonly title: string;
  readonly sponsorship: SponsorshipCodec;
  /** Mode ERC20; undefined where the contract has no such mode. */
  readonly token: TokenCodec | undefined;
  /** Topic and decoder of the event by which the contract itself names the sponsor it charged, where it has one. */
  readonly chargeEvent?: ChargeEvent;
};

export type ChargeEvent = {
  readonly topic0: Hex;
  readonly fundingAddress: (log: { readonly topics: readonly Hex[]; readonly data: Hex }) => AddressKey;
};
