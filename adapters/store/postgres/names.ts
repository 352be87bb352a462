import { accountName } from '../../../core/usage/accounts.js';
import { partyName, reservationName } from '../../../core/usage/reservations.js';
import type { Wanted } from '../../../core/usage/row-store.js';
import type { AccountId, CounterId, Reservation, ReservationKey } from '../../../core/usage/reservation.js';
import { chainFence } from '../../../core/usage/reserve-request.js';
import type { Unit } from '../../../core/usage/units.js';

// Names of rows, and of the locks under which turns read and write them. A lock covers every counter whose name begins alike up to
// the first "/" (all windows and senders of one policy, all parties of a contract's losses), every account of a contract, and every
// reservation of a paymaster. So a request needs a few locks, callers cannot add any, and no row is there only to be locked.

/** "COUNT/the counter's name" */
export function counterRow({ counter, unit }: CounterId): string {
  return `${unit}/${counter}`;
}

export function parseCounterRow(name: string): CounterId {
  const slash = name.indexOf('/');
  return { counter: name.slice(slash + 1), unit: name.slice(0, slash) as Unit };
}

export function parseAccountRow(name: string): AccountId {
  const [contract, fundingAddress] = name.split('/') as [AccountId['contract'], AccountId['contract']?];
  return fundingAddress === undefined ? { contract } : { contract, fundingAddress };
}

/** Held by the step that moves the chain's cursor. */
const cursorLock = 'cursor';

function counterLock({ counter }: CounterId): string {
  const slash = counter.indexOf('/');
  return `counter:${slash === -1 ? counter : counter.slice(0, slash)}`;
}

function accountLock({ contract }: AccountId): string {
  return `account:${contract}`;
}

function paymasterLock({ paymasterId }: Pick<ReservationKey, 'paymasterId'>): string {
  return `paymaster:${paymasterId}`;
}

/**
 * Fences of the chain and of contracts are read by turns of all paymasters, which would wait for each other's locks. So they have
 * none, and change only while no other turn of the chain runs.
 */
export function isSharedFence(id: string): boolean {
  return id === chainFence || id.startsWith('contract:');
}

/** Everything that a reservation holds, without repetition. */
export function heldBy(reservation: Reservation): {
  readonly locks: readonly string[];
  readonly counters: readonly string[];
  readonly accounts: readonly string[];
} {
  const counters: readonly CounterId[] = [...reservation.limits, ...reservation.holds];
  const { accounts, key } = reservation;
  return {
    locks: unique([paymasterLock(key), ...counters.map(counterLock), ...accounts.map(accountLock)]),
    counters: unique(counters.map(counterRow)),
    accounts: unique(accounts.map(accountName)),
  };
}

/** The rows that calls want, by name, and the locks for them. */
export type WantedRows = ReturnType<typeof wantedRows>;

export function wantedRows(calls: readonly Wanted[]) {
  const rows = {
    locks: new Set<string>(),
    reservations: new Set<string>(),
    parties: new Set<string>(),
    counters: new Set<string>(),
    accounts: new Set<string>(),
    fences: new Set<string>(),
  };
  for (const wanted of calls) {
    if (wanted.cursor === true) rows.locks.add(cursorLock);
    for (const key of wanted.reservations ?? []) {
      rows.reservations.add(reservationName(key));
      rows.locks.add(paymasterLock(key));
    }
    if (wanted.committed !== undefined) {
      rows.parties.add(partyName(wanted.committed));
      rows.locks.add(paymasterLock(wanted.committed));
    }
    for (const id of wanted.counters ?? []) {
      rows.counters.add(counterRow(id));
      rows.locks.add(counterLock(id));
    }
    for (const id of wanted.accounts ?? []) {
      rows.accounts.add(accountName(id));
      rows.locks.add(accountLock(id));
    }
    for (const id of wanted.fences ?? []) {
      rows.fences.add(id);
      if (!isSharedFence(id)) rows.locks.add(paymasterLock({ paymasterId: id }));
    }
  }
  return rows;
}

function unique(names: readonly string[]): readonly string[] {
  return [...new Set(names)];
}

/** The rows of all calls, with further locks. */
export function wantedWithLocks(
  calls: readonly { readonly wanted: Wanted }[],
  locks: ReadonlySet<string>,
): WantedRows {
  const wanted = wantedRows(calls.map((call) => call.wanted));
  for (const name of locks) wanted.locks.add(name);
  return wanted;
}

/** Whether the call needs no lock but these. */
export function needsOnly(locks: ReadonlySet<string>, { wanted }: { readonly wanted: Wanted }): boolean {
  return [...wantedRows([wanted]).locks].every((name) => locks.has(name));
}
