import type { AddressKey } from '../../../core/units/address.js';
import type { Hex } from '../../../core/units/hex.js';
import type { EpochMs, EpochSeconds } from '../../../core/units/time.js';
import { gwei } from '../../../core/units/wei.js';
import type { Unit } from '../../../core/usage/units.js';
import type { Reservation, ReservationKey } from '../../../core/usage/reservation.js';
import { readInteger, readText, type Row } from '../../sqlite/row.js';
import { parseTerms } from '../terms.js';
import type { ChainRows } from './chain-rows.js';

// Stored rows as those in memory.

export function readChain(rows: ChainRows, row: Row): void {
  rows.epoch = readText(row, 'epoch');
  rows.longestExpiryMs = readInteger(row, 'longest_expiry_ms');
  rows.written = readInteger(row, 'sequence');
  const cursor =
    row['block_hash'] === null
      ? undefined
      : {
          blockNumber: readInteger(row, 'block_number'),
          blockHash: readText(row, 'block_hash') as Hex,
          timestamp: readInteger(row, 'block_timestamp') as EpochSeconds,
        };
  const open =
    row['open_done'] === null
      ? undefined
      : { sequence: readInteger(row, 'open_sequence'), done: readInteger(row, 'open_done') };
  const forgottenUntil = readInteger(row, 'forgotten_until');
  rows.chain = { cursor, since: epochSince(rows.epoch), forgottenUntil, open };
}

/** When the usage of an epoch begins, from "id:since". */
export function epochSince(epoch: string): number {
  return Number(epoch.slice(epoch.indexOf(':') + 1));
}

export function readCounter(rows: ChainRows, row: Row): void {
  rows.setCounter({
    counter: readText(row, 'counter'),
    unit: readText(row, 'unit') as Unit,
    until: readInteger(row, 'until') as EpochMs,
    used: readInteger(row, 'used'),
    reserved: 0,
    holders: 0,
  });
}

export function readAccount(rows: ChainRows, row: Row): void {
  const funding = readText(row, 'funding') as AddressKey | '';
  rows.setAccount({
    contract: readText(row, 'contract') as AddressKey,
    ...(funding === '' ? {} : { fundingAddress: funding }),
    balance: gwei(readInteger(row, 'balance')),
    readAt: readInteger(row, 'read_at') as EpochMs,
    reserved: 0,
    holders: 0,
  });
}

export function readFence(rows: ChainRows, row: Row): void {
  rows.setFence({
    id: readText(row, 'id'),
    generation: readInteger(row, 'generation'),
    seenAt: readInteger(row, 'seen_at') as EpochMs,
    isSuspended: readInteger(row, 'is_suspended') === 1,
  });
}

export function toReservation(row: Row): Reservation {
  return { key: toKey(row), ...parseTerms(readText(row, 'terms')) };
}

export function toKey(row: Row): ReservationKey {
  return {
    chainId: readInteger(row, 'chain_id'),
    paymasterId: readText(row, 'paymaster_id'),
    entryPoint: readText(row, 'entry_point') as AddressKey,
    sender: readText(row, 'sender') as AddressKey,
    nonce: BigInt(`0x${readText(row, 'nonce')}`),
  };
}
