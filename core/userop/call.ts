import type { RefusedCall } from '../errors.js';
import type { RefusalReason } from '../refusal.js';
import { toAddressKey, zeroAddress, type AddressKey } from '../units/address.js';
import type { DecodedHex, Hex } from '../units/hex.js';

/** A part of callData: byte offsets, `end` exclusive. */
export type Range = { readonly start: number; readonly end: number };

/** One call that the account will make. */
export type Call = {
  readonly target: AddressKey;
  /** Wei that the account (not the paymaster) sends with the call. */
  readonly value: bigint;
  /** First four bytes of the call's data; all of it when it is shorter; `0x` when it is empty. */
  readonly selector: Hex;
  /** Where the data is in callData. */
  readonly data: Range;
};

/** An operation with more calls than this is refused. */
export const maxCalls = 128;

export type CallRefusal = Extract<
  RefusalReason,
  'CALLDATA_UNDECODABLE' | 'ACCOUNT_UNKNOWN' | 'DELEGATE_CALL'
>;

/** Why callData is refused; thrown by readers and caught only by `decodeCalls`. */
export class Undecodable extends Error {
  readonly reason: CallRefusal;
  /** The call that is refused, if a single one is. */
  readonly call: RefusedCall | undefined;

  constructor(detail: string, reason: CallRefusal = 'CALLDATA_UNDECODABLE', call?: RefusedCall) {
    super(detail);
    this.name = 'Undecodable';
    this.reason = reason;
    this.call = call;
  }
}

/** CallData (lowercase) and what its meaning depends on. */
export type CallData = DecodedHex & {
  /** The account, whose own address target 0 stands for. */
  readonly account: AddressKey;
  /** Modules that a set-up may install, beside those of the built-in row. */
  readonly modules?: ReadonlySet<AddressKey>;
};

/**
 * A call to target 0 is one to the account itself: several accounts read it so, and for the others it would do nothing. It is
 * judged like every call, and never read again.
 */
export function decodeCall({ hex, account }: CallData, target: AddressKey, value: bigint, data: Range): Call {
  const end = Math.min(data.start + 4, data.end);
  const selector: Hex = `0x${hex.slice(2 + 2 * data.start, 2 + 2 * end)}`;
  return { target: target === zeroKey ? account : target, value, selector, data };
}

const zeroKey = toAddressKey(zeroAddress);
