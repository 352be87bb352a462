import { describe, expect, test } from '@jest/globals';
import type { Reading } from '../../../core/paymaster/recognise.js';
import type { Reservation } from '../../../core/usage/reservation.js';
import { attribute, listCandidates, type Evidence } from '../../../server/follower/attribution.js';
import { hashPair } from '../../../core/usage/operation-hashes.js';
import { aDigest, anAddress, aNeed, funding } from '../../conformance/usage-requests.js';
import { aMined, aReservation, otherFunding } from './mined-operations.js';

const gwei = 1_000_000_000n;
const otherContract = anAddress(0xc1);

type Case = {
  readonly name: string;
  readonly reservations: readonly Reservation[];
  readonly evidence?: Partial<Evidence>;
  readonly cost?: bigint;
  /** `paymaster/mode` of each reservation. */
  readonly want: readonly string[];
};

const read = (...readings: readonly Reading[]): Partial<Evidence> => ({
  bytes: { outcome: 'read', readings },
});
const sponsored = (digest: number, change: Partial<Reading> = {}): Reading => ({
  mode: 'SPONSORED',
  digest: aDigest(digest),
  ...change,
});
const inTokens = (digest: number): Reading => ({ mode: 'ERC20', digest: aDigest(digest) });
const promise = (digest: number, change = {}) => ({ digest: aDigest(digest), ...change });
const older = (mode: 'SPONSORED' | 'ERC20', prefundWei = 10n * gwei) => ({ mode, prefundWei });
const ofWallet = (wallet: typeof funding) => ({ accounts: [aNeed(5), aNeed(5, { fundingAddress: wallet })] });

const two = [
  aReservation('a', { promises: [promise(1)], ...ofWallet(funding) }),
  aReservation('b', { promises: [promise(2)], ...ofWallet(otherFunding) }),
];
const bothModes = [aReservation('a', { promises: [promise(1), promise(2, { mode: 'ERC20' })] })];

test.each<Case>([
  {
    name: 'a single promise is it, whatever the bytes say and however much it cost',
    reservations: [aReservation('a', { promises: [promise(1)] })],
    evidence: read(sponsored(9)),
    cost: 99n * gwei,
    want: ['a/SPONSORED'],
  },
  { name: 'without a promise nothing is a candidate', reservations: [], want: [] },
  {
    name: 'a promise on another contract does not count',
    reservations: [aReservation('a', { promises: [promise(1, { contract: otherContract })] })],
    want: [],
  },
  {
    name: 'the digest tells paymasters apart',
    reservations: two,
    evidence: read(sponsored(2)),
    want: ['b/SPONSORED'],
  },
  {
    name: 'the digest tells modes apart',
    reservations: bothModes,
    evidence: read(inTokens(2)),
    want: ['a/ERC20'],
  },
  {
    name: 'one digest that two paymasters have signed is both',
    reservations: [
      aReservation('a', { promises: [promise(1)] }),
      aReservation('b', { promises: [promise(1), promise(2)] }),
    ],
    evidence: read(sponsored(1)),
    want: ['a/SPONSORED', 'b/SPONSORED'],
  },
  {
    name: 'a digest that nobody promised leaves no candidate',
    reservations: two,
    evidence: read(sponsored(9)),
    want: [],
  },
  {
    name: 'a digest that was replaced is an older promise of its mode',
    reservations: [
      aReservation('a', { promises: [promise(1)], folded: [older('SPONSORED'), older('ERC20')] }),
    ],
    evidence: read(sponsored(9)),
    want: ['a/SPONSORED'],
  },
  {
    name: 'an older promise of less than the cost does not count',
    reservations: [aReservation('a', { promises: [promise(1)], folded: [older('SPONSORED', 3n * gwei)] })],
    evidence: read(sponsored(9)),
    cost: 4n * gwei,
    want: [],
  },
  {
    name: 'an older promise is of the wallet that the bytes name',
    reservations: two.map((one) => ({
      ...one,
      folded: aReservation('x', { folded: [older('SPONSORED')] }).folded,
    })),
    evidence: read(sponsored(9, { fundingAddress: otherFunding })),
    want: ['b/SPONSORED'],
  },
  {
    name: 'bytes that nobody signs carry no promise',
    reservations: two,
    evidence: { bytes: { outcome: 'unsigned' } },
    want: [],
  },
  {
    name: 'unreadable, what was promised for less than it cost is out',
    reservations: [
      aReservation('a', { promises: [promise(1, { prefundWei: 3n * gwei }), promise(2, { mode: 'ERC20' })] }),
    ],
    cost: 4n * gwei,
    want: ['a/ERC20'],
  },
  {
    name: 'unreadable and dearer than every promise: no candidate',
    reservations: two,
    cost: 11n * gwei,
    want: [],
  },
  {
    name: 'unreadable, one that was charged in tokens is the token payment',
    reservations: bothModes,
    evidence: { tokenPaid: true },
    want: ['a/ERC20'],
  },
  {
    name: 'unreadable, one that was not may be either',
    reservations: bothModes,
    evidence: { tokenPaid: false },
    want: ['a/SPONSORED', 'a/ERC20'],
  },
  {
    name: 'a recorded operation hash proves a promise, whatever events say',
    reservations: [
      aReservation('a', {
        promises: [
          promise(2, { mode: 'ERC20', hashes: `0x${hashPair(aDigest(1), aMined().userOpHash)}` }),
          promise(1),
        ],
      }),
    ],
    evidence: { tokenPaid: false },
    want: ['a/SPONSORED'],
  },
  {
    name: 'a recorded operation hash that does not match excludes nobody',
    reservations: [
      aReservation('a', {
        promises: [
          promise(2, { mode: 'ERC20', hashes: `0x${hashPair(aDigest(1), `0x${'77'.repeat(32)}`)}` }),
          promise(1),
        ],
      }),
    ],
    evidence: { tokenPaid: false },
    want: ['a/ERC20', 'a/SPONSORED'],
  },
  {
    name: "unreadable, the contract's event names the mode",
    reservations: bothModes,
    evidence: { mode: 'SPONSORED', tokenPaid: false },
    want: ['a/SPONSORED'],
  },
  {
    name: 'unreadable, the wallet of a promise tells the modes of a paymaster apart',
    reservations: [
      aReservation('a', {
        promises: [
          promise(1, { fundingAddress: funding }),
          promise(2, { mode: 'ERC20', fundingAddress: otherFunding }),
        ],
      }),
    ],
    evidence: { payer: funding, tokenPaid: false },
    want: ['a/SPONSORED'],
  },
  {
    name: "unreadable, the contract's event names the wallet",
    reservations: two,
    evidence: { payer: otherFunding },
    want: ['b/SPONSORED'],
  },
  {
    name: 'unreadable, an event that names a wallet of none says nothing',
    reservations: two,
    evidence: { payer: anAddress(0xf9) },
    want: ['a/SPONSORED', 'b/SPONSORED'],
  },
  {
    name: 'guessed by a digest is as good as read',
    reservations: two,
    evidence: { bytes: { outcome: 'guessed', readings: [inTokens(8), sponsored(1)], remembered: [] } },
    want: ['a/SPONSORED'],
  },
  {
    name: 'guessed in vain is unreadable, not strange',
    reservations: two,
    evidence: { bytes: { outcome: 'guessed', readings: [inTokens(8)], remembered: [] }, payer: funding },
    want: ['a/SPONSORED'],
  },
  {
    name: 'guessed in vain, an older promise is of the mode that the layout of before reads',
    reservations: [
      aReservation('a', { promises: [promise(1)], folded: [older('SPONSORED'), older('ERC20')] }),
    ],
    evidence: {
      bytes: { outcome: 'guessed', readings: [inTokens(8), sponsored(9)], remembered: [sponsored(9)] },
      tokenPaid: false,
    },
    want: ['a/SPONSORED'],
  },
  {
    name: 'guessed in vain and nothing remembered, an older promise may be of either mode',
    reservations: [aReservation('a', { promises: [], folded: [older('SPONSORED'), older('ERC20')] })],
    evidence: {
      bytes: { outcome: 'guessed', readings: [inTokens(8), sponsored(9)], remembered: [] },
      tokenPaid: false,
    },
    want: ['a/SPONSORED', 'a/ERC20'],
  },
])('$name', ({ reservations, evidence = {}, cost = gwei, want }) => {
  const operation = aMined({ actualGasCost: cost });
  const found = attribute(operation, listCandidates(operation, reservations), {
    bytes: { outcome: 'unreadable' },
    ...evidence,
  });
  expect(found.map(({ reservation, mode }) => `${reservation.key.paymasterId}/${mode}`)).toEqual(want);
});

describe('old data', () => {
  test('a reservation without a single promise is recognised by its folded promises', () => {
    const old = aReservation('a', { promises: [], folded: [older('SPONSORED')] });
    expect(listCandidates(aMined(), [old])).toMatchObject([{ mode: 'SPONSORED', prefundWei: 10n * gwei }]);
  });
});
