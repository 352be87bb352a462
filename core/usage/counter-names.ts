import type { AddressKey } from '../units/address.js';
import type { EpochMs } from '../units/time.js';
import type { AccountId } from './usage-store.js';

// Every counter that this product keeps, by name. Names are stored, so a change of one is a change of the data format.

/** A spending limit in one window of its cycle; `subject` is the sender, or '' where all users share it. */
export function limitCounter(
  limit: { readonly policyId: string; readonly startMs: EpochMs },
  windowIndex: number,
  subject: AddressKey | '',
): string {
  return `${limit.policyId}/${limit.startMs}/${windowIndex}/${subject}`;
}

/** Whether a counter that {@link limitCounter} named is one for all users. */
export function isForAllUsers(counter: string): boolean {
  return counter.endsWith('/');
}

/** Live reservations of a paymaster. */
export function liveCounter(paymasterId: string): string {
  return `live:${paymasterId}`;
}

/** What an organisation's live promises take of a pooled account. */
export function shareCounter({ contract, fundingAddress }: AccountId, namespace: string): string {
  return `share:${contract}/${fundingAddress ?? ''}/${namespace}`;
}

/** Maximum cost of the live unsecured token promises of a contract: all of them, or those of one party. */
export function exposureCounter(
  contract: AddressKey,
  of:
    | 'all'
    | { readonly organisation: string }
    | { readonly paymasterId: string }
    | { readonly sender: AddressKey },
): string {
  const all = `token-exposure:${contract}`;
  if (of === 'all') return all;
  if ('organisation' in of) return `${all}/organisation/${of.organisation}`;
  return 'sender' in of ? `${all}/sender/${of.sender}` : `${all}/paymaster/${of.paymasterId}`;
}

/** Losses of a contract's token mode in a cycle: of the contract ('' as subject), or of one account. */
export function lossCounter(
  { chainId, contract }: { readonly chainId: number; readonly contract: AddressKey },
  startMs: number,
  windowIndex: number,
  subject: AddressKey | '',
): string {
  return `token-loss:${chainId}:${contract}/${startMs}/${windowIndex}/${subject}`;
}

/** Fence of a contract: suspended when an operation of it was mined that nobody here has promised. */
export function contractFence(contract: AddressKey): string {
  return `contract:${contract}`;
}
