import { addressKeyAt, type AddressKey } from '../units/address.js';
import { entryPointRules } from './table.js';
import type { EntryPointVersion } from './version.js';

/** What `validateUserOp` and `validatePaymasterUserOp` return, as an EntryPoint reads it. */
type ValidationData = {
  /** `valid`, `failed` signature, or the address of an aggregator, which `handleOps` refuses. */
  readonly signature: 'valid' | 'failed' | AddressKey;
  readonly window: ValidityWindow;
};

/** From EntryPoint 0.9 on a window may count blocks. We sign seconds only. */
type ValidityWindow = {
  readonly unit: 'seconds' | 'blocks';
  readonly validAfter: number;
  /** The last valid second or block. */
  readonly validUntil: number;
};

const uint48Max = 2 ** 48 - 1;
/** Set in both ends of a window of blocks. */
const blockFlag = 2 ** 47;

/** Layout, from the lowest bit: authorizer 160 (0 valid, 1 failed), validUntil 48 (0: no end), validAfter 48. */
export function readValidationData(word: bigint, version: EntryPointVersion): ValidationData {
  const authorizer = word & ((1n << 160n) - 1n);
  const until = Number((word >> 160n) & BigInt(uint48Max));
  return {
    signature: authorizer === 0n ? 'valid' : authorizer === 1n ? 'failed' : addressOf(authorizer),
    window: windowOf(Number(word >> 208n), until === 0 ? uint48Max : until, version),
  };
}

function windowOf(validAfter: number, validUntil: number, version: EntryPointVersion): ValidityWindow {
  const isBlocks =
    entryPointRules[version].readsBlockWindows && validAfter >= blockFlag && validUntil >= blockFlag;
  return isBlocks
    ? { unit: 'blocks', validAfter: validAfter - blockFlag, validUntil: validUntil - blockFlag }
    : { unit: 'seconds', validAfter, validUntil };
}

/** Whether an operation with this window can be mined in this block. */
export function isWithin(
  { unit, validAfter, validUntil }: ValidityWindow,
  block: { readonly number: number; readonly timestamp: number },
  version: EntryPointVersion,
): boolean {
  const now = unit === 'blocks' ? block.number : block.timestamp;
  const hasBegun = entryPointRules[version].startsAtValidAfter ? now >= validAfter : now > validAfter;
  return hasBegun && now <= validUntil;
}

function addressOf(authorizer: bigint): AddressKey {
  return addressKeyAt(`0x${authorizer.toString(16).padStart(40, '0')}`, 0);
}
