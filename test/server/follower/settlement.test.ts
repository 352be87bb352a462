import { describe, expect, test } from '@jest/globals';
import { gweiCeil } from '../../../core/units/wei.js';
import { accountName } from '../../../core/usage/accounts.js';
import { exposureCounter } from '../../../core/usage/counter-names.js';
import type { Reservation } from '../../../core/usage/reservation.js';
import { nothingAsked, type Evidence } from '../../../server/follower/attribution.js';
import { charges, usable } from '../../../server/follower/balances.js';
import { settleOperations } from '../../../server/follower/settlement.js';
import { aDigest, anAddress, contract } from '../../conformance/usage-requests.js';
import { aMined, aReservation } from './mined-operations.js';

const oneGwei = gweiCeil(3n);
const exposed = (cost: number): Reservation['holds'] => [
  { counter: exposureCounter(contract, 'all'), unit: 'NATIVE_ASSET', cost },
];
const ours = (address: string): boolean => address === contract;
const says = (evidence: Partial<Evidence>) => (): Evidence => ({ ...nothingAsked, ...evidence });
const names = (reservations: readonly { readonly key: { readonly paymasterId: string } }[]) =>
  reservations.map(({ key }) => key.paymasterId);

describe('a mined operation', () => {
  test('settles its reservation at its cost, rounded up, and releases the others of its nonce', () => {
    const elsewhere = aReservation('b', { promises: [{ contract: anAddress(0xc1) }] });
    const other = aReservation('c', { nonce: 1n });
    const result = settleOperations([aMined()], [aReservation('a'), elsewhere, other], says({}), ours);
    expect(result.settled).toMatchObject([
      { reservation: { key: { paymasterId: 'a' } }, actualCost: oneGwei },
    ]);
    expect(names(result.released)).toEqual(['b']);
    expect(result).toMatchObject({ losses: [], ambiguous: [], unattributed: [] });
  });

  test.each([
    { tokenPaid: false, losses: 1 },
    { tokenPaid: true, losses: 0 },
    { tokenPaid: undefined, losses: 0 },
  ])(
    'in mode ERC20, tokens paid: $tokenPaid, spends no limit and counts $losses losses',
    ({ tokenPaid, losses }) => {
      const evidence = tokenPaid === undefined ? {} : { tokenPaid };
      const result = settleOperations(
        [aMined()],
        [aReservation('a', { promises: [{ mode: 'ERC20' }], holds: exposed(10) })],
        says(evidence),
        ours,
      );
      expect(result.settled).toMatchObject([{ actualCost: undefined }]);
      expect(result.losses).toHaveLength(losses);
    },
  );

  test.each([
    { held: 5_000, lost: 5_000, why: 'a contract with balances keeps what it does not report' },
    { held: 5_000, lost: 3_000, taken: 3_000_000_000_000n, why: 'the contract says what it took' },
    { held: 3_000, lost: 3_000, taken: 4_000_000_000_000n, why: 'at most the held amount counts' },
  ])(
    'that may be of either mode and paid nothing spends the limit, loses $lost of the $held held, and bars nobody: $why',
    ({ held, lost, taken }) => {
      const operation = aMined({ actualGasCost: 3_000_000_000_000n });
      const promises = [{}, { mode: 'ERC20' as const, digest: aDigest(2) }].map((one) => ({
        ...one,
        prefundWei: operation.actualGasCost,
      }));
      const both = aReservation('a', { promises, holds: exposed(held) });
      const evidence = { tokenPaid: false, ...(taken === undefined ? {} : { taken }) };
      const result = settleOperations([operation], [both], says(evidence), ours);
      expect(result.settled).toMatchObject([{ actualCost: 3_000 }]);
      expect(result.losses).toMatchObject([{ lost, bars: false }]);
    },
  );

  test('that may be of either mode is not a loss where the token payment was one in validation', () => {
    const both = aReservation('a', { promises: [{}, { mode: 'ERC20', digest: aDigest(2) }] });
    const result = settleOperations([aMined()], [both], says({ tokenPaid: false }), ours);
    expect(result.settled).toMatchObject([{ actualCost: oneGwei }]);
    expect(result.losses).toEqual([]);
  });

  test.each<{ readonly name: string; readonly evidence: Partial<Evidence>; readonly lost: number }>([
    { name: 'all that is held, where the contract keeps what it does not report', evidence: {}, lost: 10 },
    { name: 'what the contract says it took', evidence: { taken: 4_000_000_001n }, lost: 5 },
    { name: 'what the EntryPoint took, if that is more', evidence: { taken: 1n }, lost: 1 },
    {
      name: 'the part of it that is owed',
      evidence: { taken: 9_000_000_000n, owed: { owed: 1n, due: 3n }, tokenPaid: true },
      lost: 3,
    },
  ])('in mode ERC20 that did not pay loses $name, and bars its account', ({ evidence, lost }) => {
    const one = aReservation('a', { promises: [{ mode: 'ERC20' }], holds: exposed(10) });
    const result = settleOperations([aMined()], [one], says({ tokenPaid: false, ...evidence }), ours);
    expect(result.losses).toMatchObject([{ lost, bars: true }]);
  });

  test('in mode ERC20 whose bytes and events nobody can read is not a loss where less than the prefund was held: it has paid in validation', () => {
    const one = aReservation('a', { promises: [{ mode: 'ERC20' }], holds: exposed(9) });
    expect(settleOperations([aMined()], [one], says({ tokenPaid: false }), ours).losses).toEqual([]);
    const unsecured = aReservation('a', { promises: [{ mode: 'ERC20' }], holds: exposed(10) });
    expect(settleOperations([aMined()], [unsecured], says({ tokenPaid: false }), ours).losses).toHaveLength(
      1,
    );
  });

  test('that may be of two paymasters settles both, and is one loss', () => {
    const two = [
      aReservation('a', { promises: [{ mode: 'ERC20' }], holds: exposed(10) }),
      aReservation('b', { promises: [{ mode: 'ERC20', digest: aDigest(2) }], holds: exposed(10) }),
    ];
    const result = settleOperations([aMined()], two, says({ tokenPaid: false }), ours);
    expect(result.settled).toHaveLength(2);
    expect(result).toMatchObject({ released: [], losses: [{ lost: 10 }], ambiguous: [aMined()] });
  });

  test('that nobody has promised is strange on a contract of ours, unless its bytes need no signature', () => {
    expect(settleOperations([aMined()], [], says({}), ours).unattributed).toHaveLength(1);
    expect(
      settleOperations([aMined()], [], says({ bytes: { outcome: 'unsigned' } }), ours).unattributed,
    ).toEqual([]);
    expect(settleOperations([aMined()], [], says({}), () => false).unattributed).toEqual([]);
  });

  test('that another paymaster or nobody paid for releases the promises for its nonce', () => {
    const strange = aMined({ paymaster: anAddress(0) });
    const result = settleOperations([strange], [aReservation('a')], says({}), ours);
    expect(names(result.released)).toEqual(['a']);
    expect(result).toMatchObject({ settled: [], unattributed: [] });
  });

  test('counts once when a node reports it twice', () => {
    const result = settleOperations([aMined(), aMined()], [aReservation('a')], says({}), ours);
    expect(result.settled).toHaveLength(1);
    expect(result.unattributed).toEqual([]);
  });
});

describe('the part of a balance that may be promised', () => {
  const wei = (amount: number) => BigInt(amount) * 1_000_000_000n;
  test.each([
    { name: 'is what is settled', settled: 10, head: 10, since: 0, want: 10 },
    { name: 'falls with a withdrawal at the head', settled: 10, head: 4, since: 0, want: 4 },
    { name: 'does not rise with a deposit at the head', settled: 10, head: 90, since: 0, want: 10 },
    { name: 'does not fall with charges of ours', settled: 10, head: 7, since: 3, want: 10 },
    { name: 'falls with charges that are not ours', settled: 10, head: 5, since: 3, want: 8 },
  ])('$name', ({ settled, head, since, want }) => {
    expect(usable({ settled: wei(settled), head: wei(head), chargedSince: wei(since) })).toBe(want);
  });

  test('is rounded down', () => {
    expect(usable({ settled: wei(2) - 1n, head: wei(9), chargedSince: 0n })).toBe(1);
  });

  test('charges of promised operations are added to the deposit of the contract, once per operation', () => {
    const two = [aReservation('a'), aReservation('b')];
    const sums = charges([aMined(), aMined({ nonce: 1n })], two);
    expect([...sums]).toEqual([[accountName({ contract }), 3n]]);
  });
});
