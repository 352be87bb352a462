import { toAddressKey } from '../units/address.js';
import type { Address, AddressKey } from '../units/address.js';
import { parseAddress } from '../units/address.js';
import type { Hex } from '../units/hex.js';
import type { EntryPointVersion } from '../userop/user-operation.js';

/** Where each EntryPoint is deployed, on every chain that has the canonical one. */
export const entryPoints: Readonly<Record<EntryPointVersion, Address>> = {
  '0.6': parseAddress('0x5FF137D4b0FDCD49DcA30c7CF57E578a026d2789'),
  '0.7': parseAddress('0x0000000071727De22E5E9d8BAf0edAc6f37da032'),
  '0.8': parseAddress('0x4337084D9E255Ff0702461CF8895CE9E3b5Ff108'),
};

/** Version of a canonical EntryPoint in any case; undefined for any other address. */
export function entryPointVersion(address: string): EntryPointVersion | undefined {
  return versionsByAddress.get(address.toLowerCase());
}

const versionsByAddress: ReadonlyMap<string, EntryPointVersion> = new Map([
  [entryPoints['0.6'].toLowerCase(), '0.6'],
  [entryPoints['0.7'].toLowerCase(), '0.7'],
  [entryPoints['0.8'].toLowerCase(), '0.8'],
]);

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
  /** False when the account's call reverted; the operation was mined and paid for all the same. */
  readonly success: boolean;
  /** Wei that the paymaster's deposit (or the sender) paid. */
  readonly actualGasCost: bigint;
  readonly actualGasUsed: bigint;
};

/** Undefined for a log that is no `UserOperationEvent`. */
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
