import type { AccountId, LimitShare, ReservationKey } from '../../../policy/usage-store.js';
import type { AddressKey } from '../../../units/address.js';

/**
 * Names of what Redis holds. All keys of a chain share the hash slot `{chainId}`, because the paymasters of a contract
 * share its deposit: a Cluster scales by chains.
 *
 *     {1}:epoch         text    identity of the data, see epochs.ts
 *     {1}:seen          number  latest time at which the follower advanced, in milliseconds
 *     {1}:cursor        text    block up to which events are settled
 *     {1}:g:PM          number  newest config generation seen of a paymaster
 *     {1}:c:COUNTER     number  used and promised of a limit in one window
 *     {1}:b:ACCOUNT     text    balance in gwei, and when it was read
 *     {1}:p:ACCOUNT     number  gwei promised by live reservations
 *     {1}:accounts      set     ACCOUNTs with a balance
 *     {1}:o:OPERATION   hash    PM → record of its reservation; PM/hash → signed userOpHash
 *     {1}:x             zset    OPERATION/PM by validUntil
 *     {1}:lease         text    who follows the chain
 *     {f:PM}            text    live funding message and its end
 */
export type ChainKeys = {
  /** What all keys of the chain start with. */
  readonly prefix: string;
  readonly epoch: string;
  readonly seen: string;
  readonly cursor: string;
  readonly accounts: string;
  readonly expiries: string;
  readonly lease: string;
};

export function chainKeys(storePrefix: string, chainId: number): ChainKeys {
  const prefix = `${storePrefix}{${chainId}}:`;
  return {
    prefix,
    epoch: `${prefix}epoch`,
    seen: `${prefix}seen`,
    cursor: `${prefix}cursor`,
    accounts: `${prefix}accounts`,
    expiries: `${prefix}x`,
    lease: `${prefix}lease`,
  };
}

export const kinds = {
  generation: 'g:',
  counter: 'c:',
  balance: 'b:',
  promised: 'p:',
  operation: 'o:',
} as const;

/** One counter of a limit. The unit is part of it: an amount never adds up with a number of operations. */
export function counterName(limit: LimitShare, window: number): string {
  const unit = limit.unit === 'COUNT' ? 'c' : 'n';
  return `${limit.policyId}/${limit.startMs}/${window}/${limit.subject}/${unit}`;
}

export function unitOfCounter(name: string): LimitShare['unit'] {
  return name.endsWith('/c') ? 'COUNT' : 'NATIVE_ASSET';
}

export function accountName({ contract, fundingAddress }: AccountId): string {
  return `${contract}/${fundingAddress ?? ''}`;
}

export function parseAccountName(name: string): AccountId {
  const [contract = '', fundingAddress = ''] = name.split('/');
  return fundingAddress === ''
    ? { contract: contract as AddressKey }
    : { contract: contract as AddressKey, fundingAddress: fundingAddress as AddressKey };
}

type Operation = Pick<ReservationKey, 'entryPoint' | 'sender' | 'nonce'>;

export function operationName({ entryPoint, sender, nonce }: Operation): string {
  return `${entryPoint}/${sender}/${nonce.toString(16)}`;
}

export function parseOperationName(name: string): Operation {
  const [entryPoint = '', sender = '', nonce = ''] = name.split('/');
  return {
    entryPoint: entryPoint as AddressKey,
    sender: sender as AddressKey,
    nonce: BigInt(`0x${nonce}`),
  };
}
