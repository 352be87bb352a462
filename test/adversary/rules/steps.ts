import fc from 'fast-check';
import { dayMs } from './local-time.js';
import {
  campaignNames,
  limitsPerPaymaster,
  operations,
  organisations,
  paymasters,
  prices,
  units,
  type Unit,
} from './written.js';

/** What callers, tenants, the platform, the chain and time do. Numbers pick among what exists at that moment. */
export type Step =
  | { readonly do: 'begin'; readonly at: number }
  /** At the same moment. */
  | { readonly do: 'ask'; readonly asks: readonly AskStep[] }
  | { readonly do: 'end'; readonly ends: readonly EndStep[] }
  | { readonly do: 'reorganise'; readonly steps: number }
  | { readonly do: 'pass'; readonly ms: number }
  /** To a moment beside the end of a window. */
  | { readonly do: 'turn'; readonly paymaster: number; readonly limit: number; readonly ms: number }
  | { readonly do: 'price'; readonly price: number; readonly fault: PriceFault; readonly ageSeconds: number }
  /** A tenant writes all of a limit. Under the name of a deleted one it is made again. */
  | { readonly do: 'write'; readonly paymaster: number; readonly limit: number; readonly written: LimitStep }
  | {
      readonly do: 'edit';
      readonly paymaster: number;
      readonly limit: number;
      readonly edits: readonly EditStep[];
      readonly isNoted: boolean;
    }
  | { readonly do: 'delete'; readonly paymaster: number; readonly limit: number }
  /** A tenant deletes a limit and makes it again under its name, as it was or nearly. */
  | {
      readonly do: 'again';
      readonly paymaster: number;
      readonly limit: number;
      readonly edits: readonly EditStep[];
    }
  /** The operator reads everything again. */
  | { readonly do: 'reconcile' }
  | { readonly do: 'without-campaign'; readonly paymaster: number; readonly isAllowed: boolean }
  | {
      readonly do: 'budget';
      readonly organisation: number;
      readonly budget: number;
      readonly edit: BudgetStep;
    }
  | { readonly do: 'kill' | 'lose' };

export type AskStep = {
  readonly paymaster: number;
  readonly sender: number;
  readonly nonce: number;
  readonly operation: number;
  /** 0: none; a name that no policy has comes last. */
  readonly campaign: number;
  readonly expirySeconds: number;
};
export type EndStep = {
  readonly pick: number;
  readonly how: 'settled' | 'released' | 'forfeited' | 'paid';
  /** Thousandths of the maximum cost; above 1000: a node that lies. */
  readonly used: number;
};
export type PriceFault =
  'none' | 'old' | 'zero' | 'negative' | 'incomplete' | 'sequencer down' | 'sequencer just up';

/** So many of an operation at a price, and a little more or less. `price` undefined: that of the moment. */
export type AmountStep = {
  readonly times: number;
  readonly operation: number;
  readonly price: number | undefined;
  readonly more: number;
};
export type CycleStep = {
  readonly kind: 'hours' | 'day' | 'week' | 'month' | 'never';
  readonly hours: number;
};
/** Undefined: it has none. */
export type LimitStep = {
  readonly unit: Unit;
  readonly perSender: boolean;
  readonly threshold: AmountStep | undefined;
  readonly perOperation: AmountStep | undefined;
  readonly cycle: CycleStep;
  readonly isShadow: boolean;
  readonly campaign: number;
};
export type EditStep =
  | { readonly of: 'threshold' | 'perOperation' | 'assumeUsed'; readonly amount: AmountStep | undefined }
  | { readonly of: 'unit'; readonly unit: Unit }
  | { readonly of: 'cycle'; readonly cycle: CycleStep }
  | { readonly of: 'startTime' | 'restartedAt'; readonly ms: number | undefined }
  | { readonly of: 'isShadow' | 'isActive' }
  | { readonly of: 'campaign'; readonly campaign: number }
  | { readonly of: 'name' };
export type BudgetStep =
  | { readonly of: 'usd'; readonly amount: AmountStep }
  /** A quarter has just room for one more such operation of the paymaster, or nearly. */
  | { readonly of: 'quarter'; readonly paymaster: number; readonly operation: number; readonly more: number }
  | { readonly of: 'cycle'; readonly cycle: CycleStep }
  | { readonly of: 'restartedAt'; readonly ms: number | undefined }
  | { readonly of: 'assumeUsed'; readonly amount: AmountStep | undefined }
  | { readonly of: 'isShadow' };

const often = <T>(usual: T, rare: fc.Arbitrary<T>, one: number) =>
  fc.oneof({ weight: one, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: rare });
const maybe = <T>(arbitrary: fc.Arbitrary<T>, one: number) =>
  fc.oneof({ weight: 1, arbitrary: fc.constant(undefined) }, { weight: one, arbitrary });
const weighted = (weight: number, arbitrary: fc.Arbitrary<Step>) => ({ weight, arbitrary });

const paymaster = fc.nat(paymasters.length - 1);
const limit = fc.nat(limitsPerPaymaster - 1);
const operation = fc.nat(operations.length - 1);
const price = fc.nat(prices.length - 1);
const campaign = often(0, fc.nat(campaignNames.length), 2);

const ask: fc.Arbitrary<AskStep> = fc.record({
  paymaster,
  sender: fc.nat(2),
  nonce: fc.nat(7),
  operation,
  campaign: often(0, fc.nat(campaignNames.length + 1), 1),
  expirySeconds: fc.constantFrom(1, 60, 300, 600),
});
const end: fc.Arbitrary<EndStep> = fc.record({
  pick: fc.nat(1_000),
  how: fc.constantFrom('settled', 'settled', 'settled', 'released', 'released', 'forfeited', 'paid'),
  used: fc.oneof(fc.nat(1_000), fc.constantFrom(0, 1_000, 1_500)),
});
const amount = (most: number): fc.Arbitrary<AmountStep> =>
  fc.record({
    times: fc.integer({ min: 0, max: most }),
    operation,
    price: maybe(price, 1),
    more: fc.integer({ min: -1, max: 1 }),
  });
const cycle: fc.Arbitrary<CycleStep> = fc.record({
  kind: fc.constantFrom('hours', 'hours', 'day', 'day', 'week', 'month', 'never'),
  hours: fc.constantFrom(1, 2, 24),
});
/** Times ahead have come when they are at most a minute away. */
const restart = maybe(
  fc.oneof(
    fc.integer({ min: -2 * dayMs, max: 120_000 }),
    fc.integer({ min: -3_600_000, max: 0 }),
    fc.constantFrom(-1, 0, 1, 59_999, 60_000, 60_001),
  ),
  4,
);

const written: fc.Arbitrary<LimitStep> = fc.record({
  unit: fc.constantFrom(...units),
  perSender: fc.boolean(),
  threshold: maybe(amount(6), 6),
  perOperation: maybe(amount(1), 1),
  cycle,
  isShadow: often(false, fc.constant(true), 2),
  campaign,
});
const edit: fc.Arbitrary<EditStep> = fc.oneof(
  fc.record({ of: fc.constant('threshold' as const), amount: maybe(amount(6), 6) }),
  fc.record({ of: fc.constant('perOperation' as const), amount: maybe(amount(1), 2) }),
  fc.record({ of: fc.constant('assumeUsed' as const), amount: maybe(amount(3), 3) }),
  fc.record({ of: fc.constant('unit' as const), unit: fc.constantFrom(...units) }),
  fc.record({ of: fc.constant('cycle' as const), cycle }),
  fc.record({ of: fc.constant('startTime' as const), ms: restart }),
  fc.record({ of: fc.constant('restartedAt' as const), ms: restart }),
  fc.record({ of: fc.constantFrom('isShadow' as const, 'isActive' as const) }),
  fc.record({ of: fc.constant('campaign' as const), campaign }),
  fc.constant({ of: 'name' as const }),
);
const budgetEdit: fc.Arbitrary<BudgetStep> = fc.oneof(
  fc.record({ of: fc.constant('usd' as const), amount: amount(40) }),
  fc.record({ of: fc.constant('cycle' as const), cycle }),
  fc.record({ of: fc.constant('restartedAt' as const), ms: restart }),
  fc.record({ of: fc.constant('assumeUsed' as const), amount: maybe(amount(10), 2) }),
  fc.constant({ of: 'isShadow' as const }),
);

/** Around changes to summer time and back, and ends of months and years. */
const beginnings = [
  '2026-03-28T22:50:00Z',
  '2026-03-08T04:40:00Z',
  '2026-04-05T02:30:00Z',
  '2026-09-06T03:30:00Z',
  '2026-10-24T21:30:00Z',
  '2026-11-01T03:50:00Z',
  '2026-12-31T09:50:00Z',
  '2027-02-28T18:00:00Z',
].map((text) => Date.parse(text));

const step: fc.Arbitrary<Step> = fc.oneof(
  weighted(40, fc.record({ do: fc.constant('ask'), asks: fc.array(ask, { minLength: 1, maxLength: 4 }) })),
  weighted(14, fc.record({ do: fc.constant('end'), ends: fc.array(end, { minLength: 1, maxLength: 3 }) })),
  weighted(3, fc.record({ do: fc.constant('reorganise'), steps: fc.integer({ min: 1, max: 4 }) })),
  weighted(
    10,
    fc.record({
      do: fc.constant('pass'),
      ms: fc.oneof(
        fc.integer({ min: 1, max: 1_000 }),
        fc.integer({ min: 1_000, max: 3_600_000 }),
        fc.integer({ min: 1, max: dayMs }),
        fc.constant(3_600_000),
      ),
    }),
  ),
  weighted(
    5,
    fc.record({
      do: fc.constant('turn'),
      paymaster,
      limit,
      ms: fc.constantFrom(-1_000, -1, 0, 1, 3_599_999, 3_600_000),
    }),
  ),
  weighted(
    5,
    fc.record({
      do: fc.constant('price'),
      price,
      fault: often<PriceFault>(
        'none',
        fc.constantFrom('old', 'zero', 'negative', 'incomplete', 'sequencer down', 'sequencer just up'),
        6,
      ),
      ageSeconds: fc.oneof(fc.constant(0), fc.constantFrom(3_598, 3_599, 3_600), fc.nat(3_600)),
    }),
  ),
  weighted(6, fc.record({ do: fc.constant('write'), paymaster, limit, written })),
  weighted(
    10,
    fc.record({
      do: fc.constant('edit'),
      paymaster,
      limit,
      edits: fc.array(edit, { minLength: 1, maxLength: 2 }),
      isNoted: often(true, fc.constant(false), 3),
    }),
  ),
  weighted(1, fc.record({ do: fc.constant('delete'), paymaster, limit })),
  weighted(2, fc.record({ do: fc.constant('reconcile') })),
  weighted(1, fc.record({ do: fc.constant('without-campaign'), paymaster, isAllowed: fc.boolean() })),
  weighted(
    4,
    fc.record({ do: fc.constant('budget'), organisation: fc.nat(1), budget: fc.nat(1), edit: budgetEdit }),
  ),
  weighted(1, fc.record({ do: fc.constantFrom('kill', 'kill', 'kill', 'kill', 'lose') })),
);

/** Steps that say most one after the other, about the same limit or budget. */
const inARow: fc.Arbitrary<Step[]> = fc.oneof(
  fc
    .tuple(ask, limit, fc.oneof(fc.array(edit, { maxLength: 1 }), fc.integer({ min: -1_000, max: 60_000 })))
    .map(([first, ofLimit, how]): Step[] => {
      const one = { paymaster: first.paymaster, limit: ofLimit };
      return [
        { do: 'ask', asks: [first] },
        typeof how === 'number'
          ? { do: 'edit', ...one, edits: [{ of: 'restartedAt', ms: how }], isNoted: true }
          : { do: 'again', ...one, edits: how },
        { do: 'ask', asks: [{ ...first, nonce: first.nonce + 1 }] },
      ];
    }),
  fc.tuple(ask, fc.nat(1), fc.constantFrom(-1, 0)).map(([next, budget, more]): Step[] => {
    const { paymaster: by, operation: of } = next;
    const organisation = organisations.indexOf(paymasters[by]!.organisation);
    const quarter = { of: 'quarter' as const, paymaster: by, operation: of, more };
    return [
      { do: 'budget', organisation, budget, edit: quarter },
      { do: 'ask', asks: [next] },
    ];
  }),
);

export const manySteps: fc.Arbitrary<Step[]> = fc
  .tuple(
    fc.constantFrom(...beginnings),
    fc.array(
      fc.oneof({ weight: 16, arbitrary: step.map((one) => [one]) }, { weight: 1, arbitrary: inARow }),
      { minLength: 60, maxLength: 140, size: 'max' },
    ),
  )
  .map(([at, steps]) => [{ do: 'begin', at }, ...steps.flat()]);
