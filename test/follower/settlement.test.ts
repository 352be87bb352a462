import { describe, expect, test } from '@jest/globals';
import type { Reservation } from '../../core/policy/usage-store.js';
import { gwei } from '../../core/units/wei.js';
import { accountName, charges, usable } from '../../server/follower/balances.js';
import {
  chargeToLimits,
  contested,
  expired,
  promisedInTokens,
  settle,
  type MinedOperation,
} from '../../server/follower/settlement.js';
import {
  aHash,
  aKey,
  anAddress,
  aNeed,
  contract,
  entryPoint,
  funding,
  seconds,
  sender,
} from '../conformance/usage-requests.js';

const otherContract = anAddress(0xc1);
const otherFunding = anAddress(0xf1);

function aReservation(paymasterId: string, change: Partial<Reservation> = {}): Reservation {
  return {
    key: aKey({ paymasterId }),
    contract,
    mode: 'SPONSORED',
    fundingAddress: funding,
    validUntil: seconds(300),
    userOpHash: undefined,
    limits: [],
    accounts: [aNeed(5), aNeed(5, { fundingAddress: funding })],
    ...change,
  };
}

function aMined(change: Partial<MinedOperation> = {}): MinedOperation {
  return {
    entryPoint,
    sender,
    nonce: 0n,
    paymaster: contract,
    userOpHash: aHash(1),
    success: true,
    actualGasCost: 3n,
    actualGasUsed: 1n,
    blockNumber: 1,
    transactionHash: aHash(9),
    logIndex: 1,
    ...change,
  };
}

const unknown = () => undefined;
const other = {
  fundingAddress: otherFunding,
  accounts: [aNeed(5), aNeed(5, { fundingAddress: otherFunding })],
};

type Case = {
  readonly name: string;
  readonly reservations: readonly Reservation[];
  readonly payer?: typeof funding;
  readonly settled: readonly string[];
  readonly released: readonly string[];
};

describe('an operation that was mined', () => {
  test.each<Case>([
    { name: 'settles its only reservation', reservations: [aReservation('a')], settled: ['a'], released: [] },
    {
      name: 'settles it whatever its hash',
      reservations: [aReservation('a', { userOpHash: aHash(2) })],
      settled: ['a'],
      released: [],
    },
    {
      name: 'settles the one with its hash before the one that its event names',
      reservations: [aReservation('a'), aReservation('b', { ...other, userOpHash: aHash(1) })],
      payer: funding,
      settled: ['b'],
      released: ['a'],
    },
    {
      name: 'settles the one whose wallet the event names',
      reservations: [aReservation('a'), aReservation('b', other)],
      payer: otherFunding,
      settled: ['b'],
      released: ['a'],
    },
    {
      name: 'settles one that was promised first with the wallet that the event names',
      reservations: [aReservation('a', { fundingAddress: anAddress(0xf9) }), aReservation('b', other)],
      payer: funding,
      settled: ['a'],
      released: ['b'],
    },
    {
      name: 'settles all that match when the event names a wallet of none',
      reservations: [aReservation('a'), aReservation('b', other)],
      payer: anAddress(0xf9),
      settled: ['a', 'b'],
      released: [],
    },
    {
      name: 'releases what was promised on another contract, since the nonce is used up',
      reservations: [aReservation('a', { contract: otherContract, accounts: [] }), aReservation('b')],
      settled: ['b'],
      released: ['a'],
    },
    {
      name: 'settles what was promised on its contract first and on another one later',
      reservations: [aReservation('a', { contract: otherContract })],
      settled: ['a'],
      released: [],
    },
  ])('$name', ({ reservations, payer, settled, released }) => {
    const result = settle([aMined()], reservations, () => payer);
    expect(result.settled.map(({ reservation }) => reservation.key.paymasterId)).toEqual(settled);
    expect(result.released.map(({ key }) => key.paymasterId)).toEqual(released);
    expect(result.ambiguous).toHaveLength(settled.length > 1 ? 1 : 0);
  });

  test.each([
    { name: 'and was charged in tokens, settles the token payment', paid: true, settled: 'b', released: 'a' },
    { name: 'and was not, settles the sponsorship', paid: false, settled: 'a', released: 'b' },
    {
      name: 'and whose events are not known, settles the sponsorship',
      paid: undefined,
      settled: 'a',
      released: 'b',
    },
  ])('that was promised in both modes, $name', ({ paid, settled, released }) => {
    const both = [aReservation('a'), aReservation('b', { mode: 'ERC20' })];
    const result = settle([aMined()], both, unknown, () => paid);
    expect(result.settled.map(({ reservation }) => reservation.key.paymasterId)).toEqual([settled]);
    expect(result.released.map(({ key }) => key.paymasterId)).toEqual([released]);
  });

  test.each<{
    readonly name: string;
    readonly token: Partial<Reservation>;
    readonly payer?: typeof funding;
  }>([
    { name: 'by the hash that was signed', token: { userOpHash: aHash(1) } },
    { name: 'by the account that its event names', token: other, payer: otherFunding },
  ])('that was promised in both modes and paid no token, is known as the token payment $name', (known) => {
    const token = aReservation('b', { mode: 'ERC20', ...known.token });
    const both = [aReservation('a'), token];
    const paidNothing = () => false;
    const result = settle([aMined()], both, () => known.payer, paidNothing);
    expect(result.settled.map(({ reservation }) => reservation)).toEqual([token]);
    expect(chargeToLimits(token, aMined(), paidNothing)).toBe(3n);
    // The event is worth reading where no hash is known.
    expect(contested([aMined()], both)).toHaveLength(known.payer === undefined ? 0 : 1);
  });

  test.each([
    { mode: 'SPONSORED', paid: undefined, charge: 3n },
    { mode: 'ERC20', paid: true, charge: 0n },
    { mode: 'ERC20', paid: false, charge: 3n },
    { mode: 'ERC20', paid: undefined, charge: 0n },
  ] as const)(
    'in mode $mode, tokens paid: $paid, adds $charge wei to its counters',
    ({ mode, paid, charge }) => {
      expect(chargeToLimits(aReservation('a', { mode }), aMined(), () => paid)).toBe(charge);
    },
  );

  test('is asked for its token payment where one was promised', () => {
    const token = aReservation('a', { mode: 'ERC20' });
    expect(promisedInTokens([aMined(), aMined({ nonce: 1n })], [token])).toEqual([aMined()]);
    expect(promisedInTokens([aMined()], [aReservation('a')])).toEqual([]);
  });

  test('counts once when a node reports it twice', () => {
    expect(settle([aMined(), aMined()], [aReservation('a')], unknown).settled).toHaveLength(1);
  });

  test('is contested when several reservations match and no hash tells them apart', () => {
    const two = [aReservation('a'), aReservation('b', other)];
    expect(contested([aMined()], two)).toHaveLength(1);
    expect(contested([aMined()], two.slice(1))).toEqual([]);
    expect(contested([aMined({ nonce: 1n })], two)).toEqual([]);
    expect(contested([aMined()], [aReservation('a', { userOpHash: aHash(1) }), two[1]!])).toEqual([]);
  });
});

test('a reservation has expired when its last moment is over and its operation was not found', () => {
  const reservations = [aReservation('a'), aReservation('b', { key: aKey({ nonce: 1n }) })];
  expect(expired(reservations, [], 300 + seconds(0))).toEqual([]);
  expect(expired(reservations, [], 301 + seconds(0))).toEqual(reservations);
  expect(expired(reservations, [aMined()], 301 + seconds(0))).toEqual(reservations.slice(1));
});

describe('what may be promised of a balance', () => {
  const wei = (amount: number) => BigInt(amount) * 1_000_000_000n;
  test.each([
    { name: 'is what is settled', settled: 10, head: 10, since: 0, orphaned: 0, want: 10 },
    { name: 'falls with a withdrawal at the head', settled: 10, head: 4, since: 0, orphaned: 0, want: 4 },
    {
      name: 'does not rise with a deposit at the head',
      settled: 10,
      head: 90,
      since: 0,
      orphaned: 0,
      want: 10,
    },
    { name: 'does not fall with charges of ours', settled: 10, head: 7, since: 3, orphaned: 0, want: 10 },
    { name: 'falls with charges that are not ours', settled: 10, head: 5, since: 3, orphaned: 0, want: 8 },
    { name: 'leaves room for orphans', settled: 10, head: 10, since: 0, orphaned: 4, want: 6 },
    { name: 'is never negative', settled: 10, head: 1, since: 0, orphaned: 4, want: 0 },
  ])('$name', ({ settled, head, since, orphaned, want }) => {
    const balance = {
      settled: wei(settled),
      head: wei(head),
      chargedSince: wei(since),
      orphaned: gwei(orphaned),
    };
    expect(usable(balance)).toBe(want);
  });

  test('is rounded down', () => {
    const balance = { settled: wei(2) - 1n, head: wei(9), chargedSince: 0n, orphaned: gwei(0) };
    expect(usable(balance)).toBe(1);
  });

  test('charges are added to the deposit of the contract, once per operation', () => {
    const two = [aReservation('a'), aReservation('b', other)];
    const sums = charges(settle([aMined(), aMined({ nonce: 1n })], two, unknown));
    expect([...sums]).toEqual([[accountName({ contract }), 3n]]);
  });
});
