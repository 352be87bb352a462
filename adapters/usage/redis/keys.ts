import type { AccountId, CounterId, OperationId, ReservationKey } from '../../../core/usage/usage-store.js';
import type { AddressKey } from '../../../core/units/address.js';

/**
 * The names of all keys in Redis. All keys of a chain share the hash slot `{chainId}`, because the paymasters of a
 * contract share its deposit: a Cluster scales by chains.
 *
 *     {1}:epoch         text    identity of the data and their format, see data-format.ts
 *     {1}:seen          number  latest time at which the follower advanced, in milliseconds
 *     {1}:sequence      number  rises with every write, see chain-scripts.ts
 *     {1}:w:PROCESS     number  writes of that process; a day
 *     {1}:longest       number  longest expiry of promises, in milliseconds
 *     {1}:cursor        text    block up to which events are settled
 *     {1}:step          text    id of a step of the follower that is carried out in several calls; with
 *     {1}:step-body     text    what it does
 *     {1}:taken         zset    the last steps of the follower, see taken-steps-lua.ts; with
 *     {1}:taken-parts   hash    what they have ended and charged
 *     {1}:g:ID          text    newest generation seen of a fence, "suspended:GENERATION" while it is suspended
 *     {1}:suspended     set     IDs that are suspended
 *     {1}:c:COUNTER     number  used and reserved; of a limit until its window has ended, of a hold while it is above 0
 *     {1}:u:COUNTER     number  used, which is part of it
 *     {1}:b:ACCOUNT     text    balance in gwei, and when it was read
 *     {1}:p:ACCOUNT     number  gwei promised by live reservations
 *     {1}:accounts      set     ACCOUNTs with a balance
 *     {1}:o:OPERATION   hash    PM → record of its reservation
 *     {1}:x             zset    OPERATION/PM by validUntil
 *     {1}:commits       zset    OPERATION/PM of a reservation with a commit, by the end of the commit in milliseconds
 *     {1}:k:SENDER      text    open commits of a sender (ENTRYPOINT/SENDER/PM): [nonce, end, 1 when it is signed, …]
 *     {1}:lease         text    who follows the chain
 *     {1}:ledger        stream  records for the ledger: t text, r id of the reservation's first record if it has one
 *     {1}:ledger-bytes  number  room that they take, see ledger-lua.ts
 *     {1}:ledger-gaps   hash    [organisation, PM] → promises that were signed without a record
 *     {f:PM}            text    live funding message and its end
 *     ledger-chains     set     chains that have had records
 */
export type ChainKeys = ReturnType<typeof chainKeys>;

/** `processId` is unique per process. */
export function chainKeys(storePrefix: string, chainId: number, processId: string) {
  const prefix = `${storePrefix}{${chainId}}:`;
  const epoch = `${prefix}epoch`;
  return {
    /** The start of all keys of the chain. */
    prefix,
    epoch,
    longestExpiry: `${prefix}longest`,
    cursor: `${prefix}cursor`,
    step: `${prefix}step`,
    stepBody: `${prefix}step-body`,
    taken: [`${prefix}${takenNames[0]}`, `${prefix}${takenNames[1]}`],
    suspended: `${prefix}suspended`,
    accounts: `${prefix}accounts`,
    expiries: `${prefix}x`,
    commits: `${prefix}commits`,
    lease: `${prefix}lease`,
    ledger: [`${prefix}${ledgerNames[0]}`, `${prefix}${ledgerNames[1]}`, `${prefix}${ledgerNames[2]}`],
    /** Epoch, seen, sequence and this process' writes: every script begins with these keys. */
    head: [epoch, `${prefix}seen`, `${prefix}sequence`, `${prefix}w:${processId}`],
  } as const;
}

export const takenNames = ['taken', 'taken-parts'] as const;

export const ledgerNames = ['ledger', 'ledger-bytes', 'ledger-gaps'] as const;

export const kinds = {
  generation: 'g:',
  counter: 'c:',
  used: 'u:',
  balance: 'b:',
  promised: 'p:',
  operation: 'o:',
  senderCommits: 'k:',
} as const;

/** The unit is part of a counter: an amount is never added to a number of operations. */
export function counterName({ counter, unit }: CounterId): string {
  return `${counter}/${unit === 'COUNT' ? 'c' : 'n'}`;
}

export function parseCounterName(name: string): CounterId {
  return { counter: name.slice(0, -2), unit: name.endsWith('/c') ? 'COUNT' : 'NATIVE_ASSET' };
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

export function operationName({ entryPoint, sender, nonce }: OperationId): string {
  return `${entryPoint}/${sender}/${nonce.toString(16)}`;
}

/** Names a sender's open commits. */
export function senderName({ entryPoint, sender, paymasterId }: ReservationKey): string {
  return `${entryPoint}/${sender}/${paymasterId}`;
}

export function parseOperationName(name: string): OperationId {
  const [entryPoint = '', sender = '', nonce = ''] = name.split('/');
  return {
    entryPoint: entryPoint as AddressKey,
    sender: sender as AddressKey,
    nonce: BigInt(`0x${nonce}`),
  };
}
