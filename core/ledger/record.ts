import type { AddressKey } from '../units/address.js';
import type { Hex } from '../units/hex.js';
import type { EpochMs, EpochSeconds } from '../units/time.js';
import type { Mode } from '../usage/reservation.js';
import type { CoveredBlocks, Movement } from './movement.js';

/** One line of the ledger. Records are only added, never changed. Amounts are wei. */
export type LedgerRecord = Decision | Settlement | Reversal | FundsSample | Movements | Gap;

/** Our own, unique, and in the order of time (UUID version 7). Never chosen by a caller. */
export type RecordId = string;

/** What every line says. */
type Line<K extends string> = {
  readonly kind: K;
  readonly id: RecordId;
  readonly at: EpochMs;
  readonly chainId: number;
};

type PaymasterLine<K extends string> = Line<K> & {
  /** The tenant: namespace, and its generation if it is not the first. */
  readonly organisation: string;
  readonly paymasterId: string;
};

/** A verdict about one call that asked for a signature or a stub. `at` is the time in `id`. */
export type Decision = PaymasterLine<'decision'> & {
  readonly entryPoint: AddressKey;
  /** The paymaster contract, and the balance in it that pays, where the layout keeps balances. */
  readonly contract: AddressKey | undefined;
  readonly fundingAddress: AddressKey | undefined;
  /** Undefined when the request was refused before its mode was known. */
  readonly mode: Mode | undefined;
  /** JSON-RPC method. */
  readonly method: string;
  /** Ours; every refusal carries it. Calls of a batch share it. */
  readonly requestId: string;
  /** Header `X-Request-Id` of the caller, who may repeat it. At most 128 visible ASCII characters. */
  readonly callerRequestId: string | undefined;
  readonly sender: AddressKey;
  readonly nonce: bigint;
  /** Of what was signed; undefined when refused, or when it is not known until the operation is mined. */
  readonly userOpHash: Hex | undefined;
  /** First 16 bytes of what the paymaster signs; undefined when nothing was signed. */
  readonly digest: Hex | undefined;
  /** The calls of the operation, as far as they could be decoded. At most 32. */
  readonly calls: readonly DecidedCall[];
  /** `committed`: the first of two phases, nothing was signed yet. */
  readonly verdict: 'sponsored' | 'refused' | 'committed';
  readonly reason: string | undefined;
  /** What exactly was refused, for the owner. */
  readonly detail: string | undefined;
  /** The policies that had a part in it. */
  readonly policies: readonly DecidedPolicy[];
  /** The most that the operation can cost; undefined when it was refused before that was known. */
  readonly maxCostWei: bigint | undefined;
  readonly validUntil: EpochSeconds | undefined;
  /** Mode ERC20. */
  readonly token: AddressKey | undefined;
  /** The first 20 bytes of `initCode`: the factory, or the marker of EIP-7702. Undefined: the account exists. */
  readonly factory: Hex | undefined;
  /** How many calls `calls` does not name; undefined: they could not be read. */
  readonly callsLeftOut: number | undefined;
  /** US dollars per coin with 18 implied decimals, by which limits counted it; undefined: no price could be used. */
  readonly usdPerNative: bigint | undefined;
};

export type DecidedCall = {
  readonly target: AddressKey;
  /** Four bytes; `0x` for a plain transfer. */
  readonly selector: Hex;
  /** Id of the registered contract, if it is one. */
  readonly contractId?: string;
  /** Name of the method, if the contract's ABI or list of methods tells it. */
  readonly name?: string;
};

/**
 * `counted`: its limit counts the operation. `would_refuse`: it is in Shadow; see also `contractsInShadow`. Two are not policies:
 * `campaign`, which the request names, and `key`, the name of the key that asks.
 */
export type DecidedPolicy = {
  readonly policyId: string;
  readonly effect: 'counted' | 'refused' | 'would_refuse' | 'campaign' | 'key';
};

/**
 * How a reservation ended: once for all decisions that made promises for it. The decision whose digest (or, without
 * one, whose operation hash) was mined gets the outcome and the cost; the others of the reservation are
 * `spent-elsewhere`, because the nonce is used. `at` is the time of the block that mined the operation, or up to which
 * nothing was mined, or at which a promise that could not be signed was taken back (`expired`).
 */
export type Settlement = PaymasterLine<'settlement'> & {
  readonly outcome: 'mined' | 'expired' | 'spent-elsewhere';
  /** Outcome `mined`. */
  readonly mined: MinedFacts | undefined;
};

export type MinedFacts = {
  /** Digest of the promise that was mined; undefined if the chain did not show it. */
  readonly digest: Hex | undefined;
  readonly userOpHash: Hex;
  readonly transactionHash: Hex;
  readonly blockNumber: number;
  readonly blockHash: Hex;
  readonly logIndex: number;
  /** False: the account's call reverted; it was paid for all the same. */
  readonly success: boolean;
  readonly actualGasCostWei: bigint;
  readonly actualGasUsed: bigint;
  /** What the account paid in tokens. */
  readonly token: TokenPayment | undefined;
};

export type TokenPayment = {
  readonly address: AddressKey;
  /** In the token's smallest unit. */
  readonly amount: bigint;
  readonly decimals: number | undefined;
};

/** A reorganisation removed the block that ended a reservation: the settlement that stands no longer counts. */
export type Reversal = PaymasterLine<'reversal'>;

/** An account's balance and promises at a moment. One per account and minute; later ones of a minute are ignored. */
export type FundsSample = Line<'funds'> & {
  readonly contract: AddressKey;
  readonly fundingAddress: AddressKey | undefined;
  readonly balanceWei: bigint;
  readonly promisedWei: bigint;
  /** US dollars per coin with 18 implied decimals, by the chain's own source; undefined: no price could be used. */
  readonly usdPerNative: bigint | undefined;
};

/** What a step of the follower has read of the blocks that it settles. */
export type Movements = Line<'movements'> & {
  /** What was recorded of blocks after this one is removed first: they are read again, or no longer in the chain. Absent: nothing was. */
  readonly after?: number;
  readonly movements: readonly Movement[];
  readonly covered: readonly CoveredBlocks[];
};

/** Records that could not be kept. They are missing, and the ledger says how many. */
export type Gap = PaymasterLine<'gap'> & {
  /** `rate`: more refusals than are recorded; `space`: the store had no room; `signed`: signed without a record. */
  readonly cause: 'rate' | 'space' | 'signed';
  readonly reason: string | undefined;
  readonly count: number;
};
