import type { AddressKey } from '../units/address.js';
import type { Hex } from '../units/hex.js';
import type { EpochMs, EpochSeconds } from '../units/time.js';
import type { Gwei } from '../units/wei.js';
import type { Taken } from './unit.js';
import type { Unit } from './units.js';

/** How many promises of a reservation are kept one by one. */
export const keptPromises = 16;

/** How long a commit can be finalized, at most. */
export const commitMs = 60_000;

/** Open commits of a sender, for one paymaster and EntryPoint. */
export const openCommitsPerSender = 4;

export type Mode = 'SPONSORED' | 'ERC20';

export type ReservationKey = {
  readonly chainId: number;
  readonly paymasterId: string;
  readonly entryPoint: AddressKey;
  readonly sender: AddressKey;
  /** Full 256-bit nonce. */
  readonly nonce: bigint;
};

/** Names a counter of a chain. Any text without control characters; the unit is part of the identity. */
export type CounterId = { readonly counter: string; readonly unit: Unit };

/** A record of the ledger, see `LedgerRecord` of `core/ledger`. What is decided here does not depend on it. */
export type StepRecord = { readonly kind: string; readonly id: string };

/** One signature. The step that reserves for it also records it, so that the mined operation can be recognised. */
export type SignedPromise = {
  /** First 16 bytes of what the paymaster signs (the contract's hash), as hex. */
  readonly digest: Hex;
  readonly mode: Mode;
  /** The paymaster contract that will be charged. */
  readonly contract: AddressKey;
  /** Wallet written into the data, where the layout has one; in mode ERC20 the balance that pays. */
  readonly fundingAddress?: AddressKey;
  /** Mode ERC20. */
  readonly token?: AddressKey;
  /** The most that the EntryPoint takes for the operation, in wei. A mined operation that cost more is not this one. */
  readonly prefundWei: bigint;
  readonly validUntil: EpochSeconds;
  /** Operation hashes that were known when it was recorded; see `operation-hashes.ts`. Absent: none. */
  readonly hashes?: Hex;
  /** Set by the store when the same promise was made more than once: each of them may have been signed. */
  readonly isRepeated?: true;
};

/** Older promises of a reservation, of one mode and one contract, kept as a single entry. */
export type FoldedPromises = Pick<SignedPromise, 'mode' | 'contract' | 'prefundWei' | 'validUntil'>;

/**
 * `contract` alone is the contract's EntryPoint deposit; with `fundingAddress` it is the sponsor's balance inside the
 * contract.
 */
export type AccountId = { readonly contract: AddressKey; readonly fundingAddress?: AddressKey };

export type AccountShare = AccountId & { readonly need: Gwei };

/** Names an operation of a chain: only one with this EntryPoint, sender and nonce can ever be mined. */
export type OperationId = Pick<ReservationKey, 'entryPoint' | 'sender' | 'nonce'>;

export type Reservation = {
  readonly key: ReservationKey;
  /** The newest first. */
  readonly promises: readonly SignedPromise[];
  readonly folded: readonly FoldedPromises[];
  /** The latest `validUntil` of all its promises. */
  readonly validUntil: EpochSeconds;
  readonly limits: readonly (CounterId & Taken & { readonly until: EpochMs })[];
  readonly holds: readonly (CounterId & { readonly cost: number })[];
  readonly accounts: readonly AccountShare[];
  /** The last commit of the operation, until `dropCommits`; absent: none. */
  readonly commit?: Commit;
  /**
   * Id of the first record that was added for it; absent: none. Records about how it ends name it. If two
   * reservations become one because an ended one is restored, the smaller id stays.
   */
  readonly recordId?: string;
};

/** Its amounts are part of those of its reservation. */
export type Commit = {
  /** Identifies what was committed; chosen by the caller. */
  readonly commitment: Hex;
  /** Its end; a commit that was replaced by one of another nonce is over earlier. */
  readonly until: EpochMs;
  /** True once it was finalized. */
  readonly isSigned: boolean;
  /** What the promises of the reservation hold without the commit; absent: nothing was signed. */
  readonly signed?: Pick<Reservation, 'validUntil' | 'limits' | 'holds' | 'accounts'>;
};
