import { expect, test } from '@jest/globals';
import type { MinedFacts } from '../../../core/ledger/record.js';
import { toAddressKey } from '../../../core/units/address.js';
import type { EpochMs } from '../../../core/units/time.js';
import type { Reservation } from '../../../core/usage/reservation.js';
import type { MinedOperation } from '../../../server/follower/mined.js';
import {
  reversals,
  listSettlements,
  withRecord,
  type RecordContext,
  type StepEnds,
} from '../../../server/follower/step-records.js';
import { createRecordIds } from '../../../server/ledger/record-ids.js';
import { addressOf } from '../../build/configs.js';

const token = toAddressKey(addressOf(0x70));
const stepAt = 1_800_000_100_000 as EpochMs;
const blockAt = 1_800_000_050_000 as EpochMs;
const context: RecordContext = {
  ids: createRecordIds({ now: () => stepAt }),
  chainId: 1,
  at: stepAt,
  timeOf: () => blockAt,
  decimalsOf: (address) => (address === token ? 6 : undefined),
  organisationOf: (paymasterId) => (paymasterId === 'gone' ? '' : 'acme'),
};
const nothing: StepEnds = { settled: [], released: [], expired: [], forfeited: [] };
const digest = `0x${'d1'.repeat(16)}` as const;

function aReservation(nonce: bigint, change: Partial<Reservation> = {}, paymasterId = 'shop'): Reservation {
  return {
    key: {
      chainId: 1,
      paymasterId,
      entryPoint: toAddressKey(addressOf(1)),
      sender: toAddressKey(addressOf(2)),
      nonce,
    },
    promises: [],
    folded: [],
    validUntil: 0 as Reservation['validUntil'],
    limits: [],
    holds: [],
    accounts: [],
    recordId: `first-${nonce}`,
    ...change,
  };
}

function mined({ key }: Reservation, change: Partial<MinedOperation> = {}): MinedOperation {
  return {
    ...key,
    userOpHash: `0x${'0a'.repeat(32)}`,
    paymaster: toAddressKey(addressOf(3)),
    success: true,
    actualGasCost: 123_456_789_012_345_678_901n,
    actualGasUsed: 99_999n,
    blockNumber: 7,
    blockHash: `0x${'0b'.repeat(32)}`,
    transactionHash: `0x${'0c'.repeat(32)}`,
    logIndex: 4,
    ...change,
  };
}

const settled = (reservation: Reservation, operation = mined(reservation)) => ({
  reservation,
  operation,
  actualCost: undefined,
  digest,
  charge: { token, amount: 5n },
});

function recordsOf(ends: Partial<StepEnds>) {
  return [...listSettlements({ ...nothing, ...ends }, context).values()];
}

test('a mined operation is recorded with every wei, where it was mined, and what its account paid', () => {
  const [record] = recordsOf({ settled: [settled(aReservation(1n))] });
  expect(record).toEqual({
    kind: 'settlement',
    id: expect.any(String),
    at: blockAt,
    organisation: 'acme',
    paymasterId: 'shop',
    chainId: 1,
    outcome: 'mined',
    mined: {
      digest,
      userOpHash: `0x${'0a'.repeat(32)}`,
      transactionHash: `0x${'0c'.repeat(32)}`,
      blockNumber: 7,
      blockHash: `0x${'0b'.repeat(32)}`,
      logIndex: 4,
      success: true,
      actualGasCostWei: 123_456_789_012_345_678_901n,
      actualGasUsed: 99_999n,
      token: { address: token, amount: 5n, decimals: 6 },
    } satisfies MinedFacts,
  });
});

test('an operation that settles two reservations costs its sum once', () => {
  const shop = aReservation(1n);
  const toy = aReservation(1n, { recordId: 'second' }, 'toy');
  const operation = mined(shop);
  const records = recordsOf({ settled: [settled(shop, operation), settled(toy, operation)] });
  expect(records).toEqual([
    expect.objectContaining({ paymasterId: 'shop', outcome: 'mined' }),
    expect.objectContaining({ paymasterId: 'toy', outcome: 'spent-elsewhere' }),
  ]);
  expect(records[1]?.mined).toBeUndefined();
});

test('each reservation gets one record, for the way in which the store ends it: the first of the lists', () => {
  const both = aReservation(1n);
  const ends = {
    settled: [settled(both)],
    released: [both, aReservation(2n)],
    expired: [aReservation(2n), aReservation(3n)],
    forfeited: [aReservation(3n), aReservation(4n)],
  };
  expect(recordsOf(ends)).toEqual(
    ['mined', 'spent-elsewhere', 'expired', 'spent-elsewhere'].map((outcome) =>
      expect.objectContaining({ outcome, at: outcome === 'mined' ? blockAt : stepAt }),
    ),
  );
});

test('a reservation whose decision was not recorded has no record of its end', () => {
  const { recordId: _, ...unrecorded } = aReservation(1n);
  expect(recordsOf({ expired: [unrecorded] })).toEqual([]);
  expect(reversals([unrecorded], context)).toEqual([]);
});

test('the record goes with the entry of its reservation, and other entries stay as they are', () => {
  const settlements = listSettlements({ ...nothing, expired: [aReservation(1n)] }, context);
  const [own, other] = [aReservation(1n), aReservation(2n)].map(({ key }) =>
    withRecord(settlements)({ key }),
  );
  expect(own!.record).toMatchObject({ outcome: 'expired' });
  expect(other).not.toHaveProperty('record');
});

test('what a reorganisation restores is taken back in the reservation that it ended', () => {
  const [reversal] = reversals([aReservation(9n, {}, 'gone')], context);
  expect(reversal!.reservation).toBe('first-9');
  expect(reversal!.record).toEqual({
    kind: 'reversal',
    id: expect.any(String),
    at: expect.any(Number),
    organisation: '',
    paymasterId: 'gone',
    chainId: 1,
  });
});
