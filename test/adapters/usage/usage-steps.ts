import fc from 'fast-check';

/** One requested operation. `late`: planned in the window before the current one. */
export type Ask = {
  readonly pm: number;
  readonly sender: number;
  readonly nonce: number;
  readonly cost: number;
  readonly digest: number;
  readonly mode: 'SPONSORED' | 'ERC20';
  readonly expiresMinutes: number;
  readonly isLate: boolean;
  /** A commit or a finalize of one of a few commitments; undefined: a promise at once. */
  readonly phase: { readonly kind: 'commit' | 'finalize'; readonly commitment: number } | undefined;
};

/** The calls on a usage store. `pick` chooses among what exists at that moment. */
export type Step =
  | { readonly do: 'ask'; readonly asks: readonly Ask[]; readonly generation: number }
  | { readonly do: 'peek'; readonly ask: Ask }
  | { readonly do: 'fail'; readonly asks: readonly Ask[] }
  | { readonly do: 'suspend'; readonly id: number; readonly isSuspended: boolean }
  | {
      readonly do: 'threshold';
      readonly limit: number;
      readonly threshold: number;
      readonly enforce: boolean;
    }
  | { readonly do: 'clock'; readonly minutes: number }
  | { readonly do: 'dropCommits' }
  /** `isOther`: of a promise that was not made for the reservation. */
  | { readonly do: 'takeBack'; readonly pick: number; readonly isOther: boolean }
  | {
      readonly do: 'follow';
      readonly ends: readonly End[];
      readonly charge: number;
    }
  | { readonly do: 'repeat' }
  | { readonly do: 'balance'; readonly account: number; readonly balance: number; readonly isFirst: boolean }
  | { readonly do: 'forget'; readonly account: number }
  | { readonly do: 'restart' | 'crash' };
export type End = {
  readonly how: 'settled' | 'paid' | 'released' | 'expired' | 'forfeited' | 'restored';
  readonly pick: number;
  readonly cost: number;
};

const ask: fc.Arbitrary<Ask> = fc.record({
  pm: fc.nat(1),
  sender: fc.nat(2),
  nonce: fc.nat(2),
  cost: fc.integer({ min: 1, max: 60 }),
  digest: fc.nat(40),
  mode: fc.constantFrom('SPONSORED', 'ERC20'),
  expiresMinutes: fc.integer({ min: 1, max: 200 }),
  phase: fc.option(fc.record({ kind: fc.constantFrom('commit', 'finalize'), commitment: fc.nat(1) }), {
    nil: undefined,
  }),
  isLate: fc.oneof({ weight: 9, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
});
const end: fc.Arbitrary<End> = fc.record({
  how: fc.constantFrom('settled', 'paid', 'released', 'expired', 'forfeited', 'restored'),
  pick: fc.nat(30),
  cost: fc.nat(80),
});
const asks = (most: number) => fc.array(ask, { minLength: 1, maxLength: most });

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 9,
    // Mostly the present generation; now and then an older or a newer one.
    arbitrary: fc.record({
      do: fc.constant('ask'),
      asks: asks(6),
      generation: fc.oneof(
        { weight: 8, arbitrary: fc.constant(0) },
        { weight: 1, arbitrary: fc.integer({ min: -1, max: 1 }) },
      ),
    }),
  },
  // The same few operations over and over: promises of one reservation.
  {
    weight: 1,
    arbitrary: fc
      .tuple(
        ask,
        fc.array(fc.tuple(fc.nat(40), fc.integer({ min: 1, max: 60 })), { minLength: 15, maxLength: 30 }),
      )
      .map(([one, changes]): Step => ({
        do: 'ask',
        asks: changes.map(([digest, cost]) => ({ ...one, digest, cost })),
        generation: 0,
      })),
  },
  // A commit and what may follow it: itself again, its finalize, twice or with other amounts, and commits of other nonces.
  {
    weight: 4,
    arbitrary: fc
      .tuple(
        ask,
        fc.array(
          fc.record({
            kind: fc.constantFrom('commit', 'finalize', 'finalize'),
            nonce: fc.nat(6),
            isSame: fc.boolean(),
            cost: fc.integer({ min: 1, max: 20 }),
          }),
          { minLength: 2, maxLength: 12 },
        ),
      )
      .map(([one, phases]): Step => ({
        do: 'ask',
        asks: phases.map(({ kind, nonce, isSame, cost }) => ({
          ...one,
          isLate: false,
          cost: isSame ? 5 : cost,
          nonce: isSame ? one.nonce : nonce,
          phase: { kind, commitment: isSame ? 0 : 1 },
        })),
        generation: 0,
      })),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('dropCommits') }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('takeBack'),
      pick: fc.nat(30),
      isOther: fc.oneof(
        { weight: 4, arbitrary: fc.constant(false) },
        { weight: 1, arbitrary: fc.constant(true) },
      ),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('peek'), ask }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('fail'), asks: asks(4) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('suspend'), id: fc.nat(3), isSuspended: fc.boolean() }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('threshold'),
      limit: fc.nat(3),
      threshold: fc.nat(150),
      enforce: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('clock'),
      minutes: fc.oneof(fc.integer({ min: -9, max: 100 }), fc.constantFrom(0.4, 0.5, 1)),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('follow'),
      ends: fc.array(end, { maxLength: 5 }),
      charge: fc.integer({ min: -20, max: 20 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('repeat') }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('balance'),
      account: fc.nat(2),
      balance: fc.nat(500),
      isFirst: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('forget'), account: fc.nat(2) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('restart', 'crash') }) },
);

/** What may happen to a usage store, in any order. */
export const manySteps: fc.Arbitrary<Step[]> = fc.array(step, { minLength: 10, maxLength: 60, size: 'max' });
