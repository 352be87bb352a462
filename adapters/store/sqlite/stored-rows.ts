import type { AddressKey } from '../../../core/units/address.js';
import type { Hex } from '../../../core/units/hex.js';
import type { EpochMs, EpochSeconds } from '../../../core/units/time.js';
import { gwei } from '../../../core/units/wei.js';
import type { Unit } from '../../../core/usage/units.js';
import type { Reservation, ReservationKey } from '../../../core/usage/reservation.js';
import { integerOf, textOf, type Row } from '../../sqlite/row.js';
import { parseTerms } from '../terms.js';
import type { ChainRows } from './chain-rows.js';

// Stored rows as those in memory.

export function readChain(rows: ChainRows, row: Row): void {
  rows.epoch = textOf(row, 'epoch');
  rows.longestExpiryMs = integerOf(row, 'longest_expiry_ms');
  rows.written = integerOf(row, 'sequence');
  const cursor =
    row['block_hash'] === null
      ? undefined
      : {
          blockNumber: integerOf(row, 'block_number'),
          blockHash: textOf(row, 'block_hash') as Hex,
          timestamp: integerOf(row, 'block_timestamp') as EpochSeconds,
        };
  const open =
    row['open_done'] === null
      ? undefined
      : { sequence: integerOf(row, 'open_sequence'), done: integerOf(row, 'open_done') };
  const forgottenUntil = integerOf(row, 'forgotten_until');
  rows.chain = { cursor, since: sinceOf(rows.epoch), forgottenUntil, open };
}

/** When the usage of an epoch begins, from "id:since". */
export function sinceOf(epoch: string): number {
  return Number(epoch.slice(epoch.indexOf(':') + 1));
}

export function readCounter(rows: ChainRows, row: Row): void {
  rows.setCounter({
    counter: textOf(row, 'counter'),
    unit: textOf(row, 'unit') as Unit,
    until: integerOf(row, 'until') as EpochMs,
    used: integerOf(row, 'used'),
    reserved: 0,
    holders: 0,
  });
}

export function readAccount(rows: ChainRows, row: Row): void {
  const funding = textOf(row, 'funding') as AddressKey | '';
  rows.setAccount({
    contract: textOf(row, 'contract') as AddressKey,
    ...(funding === '' ? {} : { fundingAddress: funding }),
    balance: gwei(integerOf(row, 'balance')),
    readAt: integerOf(row, 'read_at') as EpochMs,
    reserved: 0,
    holders: 0,
  });
}

export function readFence(rows: ChainRows, row: Row): void {
  rows.setFence({
    id: textOf(row, 'id'),
    generation: integerOf(row, 'generation'),
    seenAt: integerOf(row, 'seen_at') as EpochMs,
    isSuspended: integerOf(row, 'is_suspended') === 1,
  });
}

export function reservationOf(row: Row): Reservation {
  return { key: keyOf(row), ...parseTerms(textOf(row, 'terms')) };
}

export function keyOf(row: Row): ReservationKey {
  return {
    chainId: integerOf(row, 'chain_id'),
    paymasterId: textOf(row, 'paymaster_id'),
    entryPoint: textOf(row, 'entry_point') as AddressKey,
    sender: textOf(row, 'sender') as AddressKey,
    nonce: BigInt(`0x${textOf(row, 'nonce')}`),
  };
}
