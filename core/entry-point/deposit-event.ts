import { toAddressKey, type AddressKey } from '../units/address.js';
import type { Hex } from '../units/hex.js';

/** keccak256("Deposited(address,uint256)"), the same in every version: account indexed; the deposit after it in the data. */
export const depositedTopic: Hex = '0x2da466a7b24304f47e87fa2e1e5a81b9831ce54fec19055ce277ca2f39ba42c4';
/** keccak256("Withdrawn(address,address,uint256)"), the same in every version: account indexed; receiver and amount in the data. */
export const withdrawnTopic: Hex = '0xd1c19fbcd4551a5edfb66d43d2e337c04837afda3482b42bdf569a8fccdae5fb';

type DepositEvent = {
  readonly account: AddressKey;
  /** Wei that were taken out. Undefined: something was paid in, and the event does not say how much. */
  readonly withdrawn: bigint | undefined;
};

/**
 * What the EntryPoint says about a deposit; undefined for another event. `Deposited` names the whole deposit after it: within a bundle that
 * lacks what the EntryPoint holds for operations that are not settled yet, so an amount does not follow from it.
 */
export function decodeDepositEvent(log: {
  readonly topics: readonly Hex[];
  readonly data: Hex;
}): DepositEvent | undefined {
  const [topic, account] = log.topics;
  if (account === undefined || log.topics.length !== 2) return undefined;
  const key = toAddressKey(`0x${account.slice(26)}`);
  if (topic?.toLowerCase() === depositedTopic && log.data.length === 2 + 64)
    return { account: key, withdrawn: undefined };
  if (topic?.toLowerCase() === withdrawnTopic && log.data.length === 2 + 2 * 64)
    return { account: key, withdrawn: BigInt(`0x${log.data.slice(2 + 64)}`) };
  return undefined;
}
