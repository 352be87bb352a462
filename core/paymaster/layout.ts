import { toAddressKey, type Address, type AddressKey } from '../units/address.js';
import type { Hex } from '../units/hex.js';
import type { EntryPointVersion } from '../entry-point/version.js';
import type { FinalUserOperation, PaymasterGas } from '../entry-point/user-operation.js';
import type { ContractRules } from './contract.js';
import type { OpenZeppelinOptions } from './openzeppelin/options.js';
import type { SigningItem } from './signer.js';

export const layoutIds = [
  'vendor-1.1.0',
  'vendor-2.x',
  'singleton-0.6',
  'singleton-0.7',
  'singleton-0.8',
  'verifying-0.7',
  'verifying-0.9',
  'hybrid-0.9',
  'openzeppelin-0.7',
  'openzeppelin-0.8',
  'openzeppelin-0.9',
] as const;
export type LayoutId = (typeof layoutIds)[number];

/** What the paymaster signs besides the operation itself. */
export type SponsorshipTerms = {
  readonly chainId: number;
  readonly paymaster: Address;
  /** On-chain paymasterId; layouts that keep no balance per sponsor ignore it. */
  readonly fundingAddress: AddressKey;
  /** Unix seconds, 48 bits. */
  readonly validUntil: number;
  readonly validAfter: number;
  readonly options: SponsorshipOptions;
};

/** What a profile says about its contract. A layout ignores an option for which its data has no field. */
type SponsorshipOptions = {
  readonly priceMarkup: number;
  readonly unaccountedGas: number;
  /** Always given for the OpenZeppelin layouts, and only there. */
  readonly openZeppelin?: OpenZeppelinOptions;
  /** The paymaster's gas limits, where a request gives its own. Absent: those of the layout. */
  readonly paymasterGas?: PaymasterGas;
};

/** What an operation may take from each balance in the worst case, in wei. */
export type DepositNeed = {
  /** From the contract's deposit in the EntryPoint: the required prefund. */
  readonly entryPoint: bigint;
  /** From the sponsor's own balance inside the contract; undefined when the contract keeps no such balance. */
  readonly funding: bigint | undefined;
};

/**
 * How to encode data and calls for one deployed paymaster contract in mode SPONSORED. Pure and synchronous; hot path.
 * Encoders are pinned by vectors of third-party contracts (`test/vectors`) and compared with `getHash` on chain.
 */
export type SponsorshipCodec = {
  /** What is signed: the limits of the options, or else those of the layout, with room. */
  readonly gas: (options: SponsorshipTerms['options']) => PaymasterGas;
  /**
   * The least limits with which the contract was seen to work on a chain. Of a contract that charges the sponsor in postOp that limit is
   * the layout's own: with too little the charge would fail, and the platform would pay.
   */
  readonly minGas: (options: SponsorshipTerms['options']) => PaymasterGas;
  /** Least verificationGasLimit (0.6) that the contract accepts; 0 when it accepts any. */
  readonly minVerificationGasLimit: bigint;
  readonly need: (op: FinalUserOperation, options: SponsorshipTerms['options']) => DepositNeed;
  /**
   * Identifies the operation with these terms: 32 bytes, the contract's `getHash` where it has one. It covers
   * everything that is signed, and `recognise` computes it again from the mined bytes.
   */
  readonly hash: (op: FinalUserOperation, terms: SponsorshipTerms) => Uint8Array;
  /** What the key signs, prefix or domain included; `hash` is that of the same operation and terms. */
  readonly toSign: (hash: Uint8Array, op: FinalUserOperation, terms: SponsorshipTerms) => SigningItem;
  /** The whole `paymasterAndData` with a 65-byte r‖s‖v signature (v 27 or 28). */
  readonly encode: (op: FinalUserOperation, terms: SponsorshipTerms, signature: Uint8Array) => Hex;
  /** Terms and signature of data made by `encode`; throws RangeError on other bytes. */
  readonly decode: (paymasterAndData: Hex) => DecodedSponsorship;
  readonly recognise: Recognise;
  /** Call data of the contract's own hash function, to compare with `hash` by eth_call; undefined when it has none. */
  readonly getHashCall: ((op: FinalUserOperation, terms: SponsorshipTerms) => Hex) | undefined;
  /** A call that shows whether the contract's EIP-712 domain is the one of the options; absent when it has none. */
  readonly domainCall?: (terms: SponsorshipTerms) => {
    readonly data: Hex;
    readonly isSame: (result: Hex) => boolean;
  };
  /** Read-only calls for the activation check: is `signer` authorised, which EntryPoint, which balance. */
  readonly signerCall: (signer: Address) => {
    readonly data: Hex;
    readonly isAuthorised: (result: Hex) => boolean;
  };
  readonly fundingBalanceCall: ((fundingAddress: AddressKey) => Hex) | undefined;
};

/** What the bytes of a mined operation show about the promise in it. */
export type MinedPromise = {
  /** `hash` of the codec, as it was when the promise was made. */
  readonly hash: Uint8Array;
  /** Funding wallet in the data, in layouts that have one. */
  readonly fundingAddress?: AddressKey;
  /**
   * Value in wei, at the signed rate, of the tokens that the contract took in validation. Absent: it takes none
   * there.
   */
  readonly paidInAdvance?: bigint;
};

/**
 * Reads exactly what the contract reads, because anyone who sends a bundle may pad the data, or move the signature in
 * it. Undefined for bytes of another kind; `unsigned` for bytes that the contract accepts without a signature.
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

/** What the paymaster signs besides the operation in mode ERC20. */
export type TokenTerms = {
  readonly chainId: number;
  readonly paymaster: Address;
  readonly token: AddressKey;
  /** Token base units per 10^18 wei, premium not included; at least 1. */
  readonly exchangeRate: bigint;
  /**
   * The premium as a factor: 1,000,000 means no premium, at most 2,000,000. If the data has no field for it, the
   * codec multiplies it into the signed rate, rounded up, so that it is never counted twice.
   */
  readonly priceMarkup: number;
  /** Unix seconds, 48 bits. */
  readonly validUntil: number;
  readonly validAfter: number;
  /**
   * Demands that the contract takes the tokens in validation. If the account has moved its tokens or withdrawn its
   * allowance, the EntryPoint then refuses the operation at nobody's cost. Only for contracts that were seen to do
   * so.
   */
  readonly inAdvance?: true;
  readonly options: TokenOptions;
};

/** What a profile says about its token contract. A layout ignores an option for which its data has no field. */
export type TokenOptions = {
  /** The platform wants `inAdvance` if the layout offers the choice: validation gets gas for a transfer. */
  readonly takesPreFund?: true;
  /** Receives the tokens, if the data names a receiver; see `TokenCodec.namesTreasury`. */
  readonly treasury?: Address;
  /** Token base units taken on top of the gas. */
  readonly constantFee?: bigint;
  /** Token base units taken in validation. The contract takes the rest, or pays the difference back, after the call. */
  readonly preFund?: bigint;
  /** Gets what is left of the worst case after the charge; the account then always pays the worst case. */
  readonly recipient?: Address;
};

/**
 * How to encode data and calls for one deployed paymaster contract in mode ERC20, where the account pays for its gas
 * with tokens. Pure and synchronous. Throws RangeError for terms that no contract should ever see: rate 0, a markup
 * out of bounds, no treasury.
 */
export type TokenCodec = {
  readonly gas: (options: TokenOptions) => PaymasterGas;
  /** Least verificationGasLimit (0.6, where it bounds postOp too) with which a payment can succeed; 0 from 0.7 on. */
  readonly minVerificationGasLimit: bigint;
  /** Gas of the contract's own validation if verificationGasLimit has to cover it (0.6); 0 from 0.7 on. */
  readonly validationGas: (options: TokenOptions) => bigint;
  /**
   * A contract that takes tokens in validation refuses an account there that holds less than `maxTokenCharge`, even where the data do
   * not demand the tokens now. Absent: it looks after the call.
   */
  readonly validatesBalance?: true;
  /** True when the data says who receives the tokens: `options.treasury` is then required. */
  readonly namesTreasury: boolean;
  readonly hash: (op: FinalUserOperation, terms: TokenTerms) => Uint8Array;
  /** See {@link SponsorshipCodec.toSign}. */
  readonly toSign: (hash: Uint8Array, op: FinalUserOperation, terms: TokenTerms) => SigningItem;
  /** The whole `paymasterAndData` with a 65-byte r‖s‖v signature (v 27 or 28). */
  readonly encode: (op: FinalUserOperation, terms: TokenTerms, signature: Uint8Array) => Hex;
  /**
   * As `encode`, for data that are only simulated. Figures that do not matter there have no zero bytes, to make up for
   * an amount that is 0 in the stub and not in signed data. Absent: `encode` is good for stubs.
   */
  readonly encodeStub?: TokenCodec['encode'];
  /** Terms and signature of data made by `encode`; throws RangeError on other bytes. */
  readonly decode: (paymasterAndData: Hex) => DecodedTokenPayment;
  readonly recognise: Recognise;
  /**
   * Data that some contract of this layout accepts although nobody signed them; absent: no contract does. Whether one contract does
   * is a fact that the operator asks it for.
   */
  readonly unsigned?: (paymaster: Hex, token: AddressKey) => Hex;
  readonly getHashCall: (op: FinalUserOperation, terms: TokenTerms) => Hex;
  readonly signerCall: SponsorshipCodec['signerCall'];
  /**
   * What the operation may cost the platform until the tokens arrive. `funding` comes from the balance of the account
   * that `tokenAccountCall` answers; undefined in layouts whose contracts pay from their EntryPoint deposit alone.
   */
  readonly need: (op: FinalUserOperation, options: TokenOptions) => DepositNeed;
  /** For a payment `inAdvance`: what the platform still loses if the account pays nothing after its call, in wei. */
  readonly residual: (op: FinalUserOperation, terms: TokenTerms) => bigint;
  /**
   * `tokenAccount()`: reverts in contracts that keep no balances. Undefined when no contract of the layout has this
   * view.
   */
  readonly tokenAccountCall: Hex | undefined;
  /** Who may receive the tokens: the contract itself, and the receivers in the terms. */
  readonly receivers: (terms: TokenTerms) => readonly AddressKey[];
  /** Views in which a contract names another receiver. A contract need not have all of them. */
  readonly receiverCalls: readonly Hex[];
  /**
   * The most token base units that the contract can take for this operation, rounded up, for any gas use and any gas
   * price up to maxFeePerGas. RangeError when the contract's own arithmetic would overflow.
   */
  readonly maxTokenCharge: (op: FinalUserOperation, terms: TokenTerms) => bigint;
  /**
   * Gas that the contract charges at the bundler's own gas price. `eth_call` leaves that price at 0, so a simulated
   * payment may be too low by the price of this gas. 0 when the contract charges at the operation's price.
   */
  readonly unpricedGas: bigint;
  /** First topics of the logs that `chargeOf` reads. */
  readonly chargeTopics: readonly Hex[];
  /**
   * What the operation was charged, from the contract's own events among the logs of its transaction; undefined when
   * it paid nothing. The logs may belong to many operations and contracts: only logs of `paymaster` with this hash
   * count.
   */
  readonly chargeOf: (
    logs: readonly ChargeLog[],
    operation: { readonly paymaster: AddressKey; readonly userOpHash: Hex },
  ) => TokenCharge | undefined;
  /**
   * In which mode the contract says that it served the operation; undefined when it says nothing, which proves nothing: an event of a
   * postOp that failed is undone.
   */
  readonly modeOf: (...asked: Parameters<TokenCodec['chargeOf']>) => 'SPONSORED' | 'ERC20' | undefined;
};

export type ChargeLog = { readonly address: Hex; readonly topics: readonly Hex[]; readonly data: Hex };

export type TokenCharge = { readonly token: AddressKey; readonly amount: bigint };

export type DecodedTokenPayment = {
  readonly paymaster: AddressKey;
  readonly token: AddressKey;
  /** As signed: includes the premium when `priceMarkup` is absent. */
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
  /**
   * Whether the contract also takes its signature from the tail of `paymasterAndData`, which EntryPoint 0.9 leaves out
   * of the operation hash: see `tail.ts`.
   */
  readonly readsTail: (options: Pick<SponsorshipOptions, 'openZeppelin'>) => boolean;
  /** Mode ERC20; undefined when the contract does not have this mode. */
  readonly token: TokenCodec | undefined;
  /**
   * Topic and decoders of the event in which the contract names the sponsor that it charged, and how much, if it has such an event.
   */
  readonly chargeEvent?: ChargeEvent;
  readonly contract: ContractRules;
};

type ChargeEvent = {
  readonly topic0: Hex;
  readonly fundingAddress: (log: { readonly topics: readonly Hex[]; readonly data: Hex }) => AddressKey;
  /** Wei by which the sponsor's balance falls, if a token payment is charged. */
  readonly charge: (log: { readonly topics: readonly Hex[]; readonly data: Hex }) => bigint;
};

/** An event of an indexed funding wallet and, after it, an indexed amount. */
export function indexedCharge(topic0: Hex): ChargeEvent {
  return {
    topic0,
    fundingAddress: ({ topics }) => toAddressKey(`0x${(topics[1] ?? '').slice(26)}`),
    charge: ({ topics }) => BigInt(topics[2] ?? 0),
  };
}
