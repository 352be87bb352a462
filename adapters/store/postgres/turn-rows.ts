import { accountName } from '../../../core/usage/accounts.js';
import { partyName, reservationName } from '../../../core/usage/reservations.js';
import type { AccountRow, ChainRow, CounterRow, FenceRow, RowSource } from '../../../core/usage/rows.js';
import type { AccountId, CounterId, Reservation, ReservationKey } from '../../../core/usage/reservation.js';
import type { AddressKey } from '../../../core/units/address.js';
import type { Hex } from '../../../core/units/hex.js';
import type { EpochMs, EpochSeconds } from '../../../core/units/time.js';
import { gwei } from '../../../core/units/wei.js';
import { parseTerms } from '../terms.js';
import { counterRow, parseAccountRow, parseCounterRow, type WantedRows } from './names.js';

export type Row = Readonly<Record<string, unknown>>;

/** What a turn has read, by the tables. */
export type ReadRows = {
  readonly reservations: readonly Row[];
  readonly counters: readonly Row[];
  readonly accounts: readonly Row[];
  readonly fences: readonly Row[];
};

/**
 * The rows of a chain that one turn has read. A row that was not read is not taken for one that does not exist: asking for it throws
 * a TypeError, since every call names its rows.
 */
export class TurnRows implements RowSource {
  readonly chain: ChainRow;
  readonly sequence: number;
  readonly place: number;
  readonly #wanted: WantedRows;
  readonly #counters = new Map<string, CounterRow>();
  readonly #accounts = new Map<string, AccountRow>();
  readonly #fences = new Map<string, FenceRow>();
  readonly #reservations = new Map<string, Reservation>();
  readonly #parties = new Map<string, Reservation[]>();

  constructor(
    chainId: number,
    wanted: WantedRows,
    read: ReadRows,
    at: { readonly chain: ChainRow; readonly sequence: number; readonly place: number },
  ) {
    this.chain = at.chain;
    this.sequence = at.sequence;
    this.place = at.place;
    this.#wanted = wanted;
    for (const row of read.counters) {
      const counter = toCounterRow(row);
      this.#counters.set(counterRow(counter), counter);
    }
    for (const row of read.accounts) {
      const account = toAccountRow(row);
      this.#accounts.set(accountName(account), account);
    }
    for (const row of read.fences) this.#fences.set(readText(row, 'id'), toFenceRow(row));
    for (const row of read.reservations) {
      const reservation = toReservation(chainId, row);
      this.#reservations.set(reservationName(reservation.key), reservation);
      // What a reservation holds was read with it.
      for (const name of row['counters'] as readonly string[]) wanted.counters.add(name);
      for (const name of row['accounts'] as readonly string[]) wanted.accounts.add(name);
      if (row['party'] !== null) {
        const party = partyName(reservation.key);
        this.#parties.set(party, [...(this.#parties.get(party) ?? []), reservation]);
      }
    }
  }

  counter(id: CounterId): CounterRow | undefined {
    const name = counterRow(id);
    return this.#counters.get(name) ?? absent(this.#wanted.counters, name);
  }

  account(id: AccountId): AccountRow | undefined {
    const name = accountName(id);
    return this.#accounts.get(name) ?? absent(this.#wanted.accounts, name);
  }

  fence(id: string): FenceRow | undefined {
    return this.#fences.get(id) ?? absent(this.#wanted.fences, id);
  }

  reservation(key: ReservationKey): Reservation | undefined {
    const name = reservationName(key);
    return this.#reservations.get(name) ?? absent(this.#wanted.reservations, name);
  }

  committed(key: ReservationKey): readonly Reservation[] {
    const party = partyName(key);
    return this.#parties.get(party) ?? absent(this.#wanted.parties, party) ?? [];
  }
}

function absent(wanted: ReadonlySet<string>, name: string): undefined {
  if (!wanted.has(name)) throw new TypeError(`the turn did not read the row ${name}`);
  return undefined;
}

function toCounterRow(row: Row): CounterRow {
  return {
    ...parseCounterRow(readText(row, 'name')),
    until: Number(row['until']) as EpochMs,
    used: Number(row['used']),
    reserved: Number(row['reserved']),
    holders: Number(row['holders']),
  };
}

export function toAccountRow(row: Row): AccountRow {
  const { balance, read_at: readAt } = row;
  return {
    ...parseAccountRow(readText(row, 'name')),
    balance: balance === null ? undefined : gwei(Number(balance)),
    readAt: readAt === null ? undefined : (Number(readAt) as EpochMs),
    reserved: Number(row['reserved']),
    holders: Number(row['holders']),
  };
}

function toFenceRow(row: Row): FenceRow {
  return {
    id: readText(row, 'id'),
    generation: Number(row['generation']),
    seenAt: Number(row['seen_at']) as EpochMs,
    isSuspended: row['is_suspended'] === true,
  };
}

export function toKey(chainId: number, row: Row): ReservationKey {
  return {
    chainId,
    paymasterId: readText(row, 'paymaster_id'),
    entryPoint: readText(row, 'entry_point') as AddressKey,
    sender: readText(row, 'sender') as AddressKey,
    nonce: BigInt(`0x${readText(row, 'nonce')}`),
  };
}

export function toReservation(chainId: number, row: Row): Reservation {
  return { key: toKey(chainId, row), ...parseTerms(readText(row, 'terms')) };
}

export function toChainRow(row: Row, since: number): ChainRow {
  const cursor =
    row['block_hash'] === null
      ? undefined
      : {
          blockNumber: Number(row['block_number']),
          blockHash: readText(row, 'block_hash') as Hex,
          timestamp: Number(row['block_timestamp']) as EpochSeconds,
        };
  const done = row['open_done'] ?? undefined;
  const open =
    done === undefined ? undefined : { sequence: Number(row['open_sequence']), done: Number(done) };
  return { cursor, since, forgottenUntil: Number(row['forgotten_until']), open };
}

export function readText(row: Row, column: string): string {
  const value = row[column];
  if (typeof value !== 'string') throw new TypeError(`column ${column} holds ${typeof value}, not text`);
  return value;
}
