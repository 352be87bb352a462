import type { AddressKey } from '../units/address.js';
import type { LimitWindow } from './limit-window.js';
import type { AccountId } from './reservation.js';

// The names of all counters in this product. Names are stored, so changing one changes the data format.

/** A spending limit in one window of its cycle, where all users share it. */
export function limitCounter(policyId: string, window: LimitWindow): string {
  return `${policyId}/${window.name}/`;
}

/** Of the same limit and window, where each sender has one. */
export function counterOfSender(limit: string, sender: AddressKey): string {
  return limit + sender;
}

/** Whether {@link limitCounter} made this name for a counter of all users. */
export function isForAllUsers(counter: string): boolean {
  return counter.endsWith('/');
}

/** What the live promises of one paymaster take of its organisation's budget; its lock is that of the budget's own counters. */
export function budgetHoldCounter(budgetId: string, paymasterId: string): string {
  return `${budgetId}/live/${paymasterId}`;
}

/** Number of live reservations of a paymaster. */
export function liveCounter(paymasterId: string): string {
  return `live:${paymasterId}`;
}

/** The paymaster whose {@link liveCounter} has this name; undefined for another counter. */
export function paymasterOfLive(counter: string): string | undefined {
  return counter.startsWith('live:') ? counter.slice('live:'.length) : undefined;
}

/** What the live promises of one organisation take of an account that several organisations share. */
export function shareCounter({ contract, fundingAddress }: AccountId, namespace: string): string {
  return `share:${contract}/${fundingAddress ?? ''}/${namespace}`;
}

/** Maximum cost of the live unsecured token promises of a contract: of all parties together, or of one party. */
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

/** Losses in the token mode of a contract in one cycle: of the whole contract ('' as subject), or of one account. */
export function lossCounter(
  { chainId, contract }: { readonly chainId: number; readonly contract: AddressKey },
  startMs: number,
  windowIndex: number,
  subject: AddressKey | '',
): string {
  return `token-loss:${chainId}:${contract}/${startMs}/${windowIndex}/${subject}`;
}

/** Fence of a contract: suspended when an operation was mined on it that this service never promised. */
export function contractFence(contract: AddressKey): string {
  return `contract:${contract}`;
}
