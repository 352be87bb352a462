import { describe, expect, test } from '@jest/globals';
import { exposureCounter } from '../../../core/usage/counter-names.js';
import type { Reservation } from '../../../core/usage/usage-store.js';
import { gweiCeil } from '../../../core/units/wei.js';
import { nothingAsked, type Evidence } from '../../../server/follower/attribution.js';
import { accountName, charges, usable } from '../../../server/follower/balances.js';
import { settle } from '../../../server/follower/settlement.js';
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
    const result = settle([aMined()], [aReservation('a'), elsewhere, other], says({}), ours);
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
      const result = settle(
        [aMined()],
        [aReservation('a', { promises: [{ mode: 'ERC20' }] })],
        says(evidence),
        ours,
      );
      expect(result.settled).toMatchObject([{ actualCost: undefined }]);
      expect(result.losses).toHaveLength(losses);
    },
  );

  test.each([
    { held: 5_000, lost: 3_000 },
    { held: 2_000, lost: 2_000 },
  ])(
    'that may be of either mode and paid nothing spends the limit, loses $lost of the $held held, and bars nobody',
    ({ held, lost }) => {
      const operation = aMined({ actualGasCost: 3_000_000_000_000n });
      const promises = [{}, { mode: 'ERC20' as const, digest: aDigest(2) }].map((one) => ({
        ...one,
        prefundWei: operation.actualGasCost,
      }));
      const both = aReservation('a', { promises, holds: exposed(held) });
      const result = settle([operation], [both], says({ tokenPaid: false }), ours);
      expect(result.settled).toMatchObject([{ actualCost: 3_000 }]);
      expect(result.losses).toMatchObject([{ lost, bars: false }]);
    },
  );

  test('that may be of either mode is no loss where the token payment was one in validation', () => {
    const both = aReservation('a', { promises: [{}, { mode: 'ERC20', digest: aDigest(2) }] });
    const result = settle([aMined()], [both], says({ tokenPaid: false }), ours);
    expect(result.settled).toMatchObject([{ actualCost: oneGwei }]);
    expect(result.losses).toEqual([]);
  });

  test.each([
    { holds: exposed(1), bars: true },
    { holds: [], bars: false },
  ])('in mode ERC20 that paid nothing bars its account: $bars', ({ holds, bars }) => {
    const one = aReservation('a', { promises: [{ mode: 'ERC20' }], holds });
    const result = settle([aMined()], [one], says({ tokenPaid: false }), ours);
    expect(result.losses).toMatchObject([{ lost: oneGwei, bars }]);
  });

  test('that may be of two paymasters settles both, and is one loss', () => {
    const two = [
      aReservation('a', { promises: [{ mode: 'ERC20' }] }),
      aReservation('b', { promises: [{ mode: 'ERC20', digest: aDigest(2) }] }),
    ];
    const result = settle([aMined()], two, says({ tokenPaid: false }), ours);
    expect(result.settled).toHaveLength(2);
    expect(result).toMatchObject({ released: [], losses: [{ lost: oneGwei }], ambiguous: [aMined()] });
  });

  test('that nobody has promised is strange on a contract of ours, unless its bytes need no signature', () => {
    expect(settle([aMined()], [], says({}), ours).unattributed).toHaveLength(1);
    expect(settle([aMined()], [], says({ bytes: { outcome: 'unsigned' } }), ours).unattributed).toEqual([]);
    expect(settle([aMined()], [], says({}), () => false).unattributed).toEqual([]);
  });

  test('that another paymaster or nobody paid for releases the promises for its nonce', () => {
    const strange = aMined({ paymaster: anAddress(0) });
    const result = settle([strange], [aReservation('a')], says({}), ours);
    expect(names(result.released)).toEqual(['a']);
    expect(result).toMatchObject({ settled: [], unattributed: [] });
  });

  test('counts once when a node reports it twice', () => {
    const result = settle([aMined(), aMined()], [aReservation('a')], says({}), ours);
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
