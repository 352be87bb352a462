import { toAddressKey, type AddressKey } from '../units/address.js';
import type { Hex } from '../units/hex.js';

/**
 * keccak256("UserOperationEvent(bytes32,address,address,uint256,bool,uint256,uint256)"), the same in every version:
 * userOpHash, sender and paymaster indexed; nonce, success, actualGasCost, actualGasUsed in the data.
 */
export const userOperationEventTopic: Hex =
  '0x49628fd1471006c1482da88028e9ce4dbb080b815c9b0344d39e5a8e6ec1419f';

export type UserOperationEvent = {
  readonly userOpHash: Hex;
  readonly sender: AddressKey;
  readonly paymaster: AddressKey;
  readonly nonce: bigint;
  /** False when the account's call reverted; the operation was still mined and paid for. */
  readonly success: boolean;
  /** Wei that the paymaster's deposit (or the sender) paid. */
  readonly actualGasCost: bigint;
  readonly actualGasUsed: bigint;
};

/** Undefined for a log that is not a `UserOperationEvent`. */
export function decodeUserOperationEvent(log: {
  readonly topics: readonly Hex[];
  readonly data: Hex;
}): UserOperationEvent | undefined {
  const [topic, userOpHash, sender, paymaster] = log.topics;
  if (topic?.toLowerCase() !== userOperationEventTopic || log.data.length !== 2 + 4 * 64) return undefined;
  if (userOpHash === undefined || sender === undefined || paymaster === undefined) return undefined;
  return {
    userOpHash,
    sender: toAddressKey(`0x${sender.slice(26)}`),
    paymaster: toAddressKey(`0x${paymaster.slice(26)}`),
    nonce: wordAt(log.data, 0),
    success: wordAt(log.data, 1) !== 0n,
    actualGasCost: wordAt(log.data, 2),
    actualGasUsed: wordAt(log.data, 3),
  };
}

function wordAt(data: Hex, index: number): bigint {
  return BigInt(`0x${data.slice(2 + index * 64, 66 + index * 64)}`);
}
