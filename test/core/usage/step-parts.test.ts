import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { MemoryRows } from '../../support/memory-rows.js';
import type { RowStore } from '../../../core/usage/row-store.js';
import type { RowChanges, StepChange } from '../../../core/usage/rows.js';
import { itemsPerPart, type OpenStep } from '../../../core/usage/step-parts.js';
import { joinParts, stepsTo } from '../../../core/usage/taken-step.js';
import { usageOver } from '../../../core/usage/usage-over-rows.js';
import type { FollowerStep, TakenStep } from '../../../core/usage/follower-step.js';
import type { UsageStore } from '../../../core/usage/usage-store.js';
import { gwei } from '../../../core/units/wei.js';
import {
  aHash,
  aKey,
  aHold,
  aLimit,
  anHour,
  aNeed,
  aRequest,
  aSpend,
  chainId,
  contract,
  seconds,
  sorted,
  startMs,
} from '../../conformance/usage-requests.js';
import { arrow, drawnIn } from '../../support/drawn-states.js';
import { runs } from '../../support/property.js';

/** Rows in memory that outlive the processes over them. A process whose turn is one of `deaths` ends before or after it. */
function aPlace() {
  const rows = new MemoryRows(chainId);
  const steps: { number: number; step: TakenStep }[] = [];
  let open: FollowerStep | undefined;

  function take({ begun, chain, steps: changed }: RowChanges): void {
    if (begun !== undefined) open = begun;
    else if (chain.open === undefined) open = undefined;
    for (const change of changed) keep(change);
  }
  function keep(change: StepChange): void {
    if ('takesBackAfter' in change) {
      const after = change.takesBackAfter;
      steps.splice(0, steps.length, ...steps.filter(({ step }) => step.next.blockNumber <= after));
      return;
    }
    const { isContinued, ...step } = change;
    const last = steps.at(-1)?.number ?? 0;
    steps.push({ number: isContinued ? last : last + 1, step });
  }

  return {
    rows,
    take,
    steps: () => stepsTo(rows.chain.cursor, joinParts(steps)),
    open: () => open,
    process(dies: () => 'before' | 'after' | 'not') {
      const store: Partial<RowStore> = {
        now: () => startMs,
        async turn(_chain, _wanted, decide) {
          // Another process may come first.
          await Promise.resolve();
          const when = dies();
          if (when === 'before') throw new Error('the process ended');
          const result = rows.turn((turn) => decide(turn, startMs), take);
          if (when === 'after') throw new Error('the process ended');
          return result;
        },
        openStep: async (): Promise<OpenStep | undefined> =>
          open === undefined || rows.chain.open === undefined
            ? undefined
            : { step: open, ...rows.chain.open },
        chain: async () => rows.chain,
      };
      return usageOver(store as RowStore, { observe: () => {} });
    },
  };
}

const alive = (): 'not' => 'not';
const many = 2 * itemsPerPart + 30;

async function filled(usage: Pick<UsageStore, 'reserve'>) {
  const limits = [aLimit({ threshold: 10_000 }), aSpend(60, { threshold: 1_000_000 })];
  for (let nonce = 0n; nonce < many; nonce++)
    await usage.reserve(
      aRequest({
        key: { nonce },
        limits,
        holds: [aHold(60, { threshold: 1_000_000 })],
        accounts: [aNeed(60)],
      }),
    );
}

const loss = { counter: 'loss', unit: 'NATIVE_ASSET', until: anHour().until } as const;

function aStep(
  block: number,
  expected: FollowerStep['expected'],
  change: Partial<FollowerStep>,
): FollowerStep {
  return {
    chainId,
    expected,
    next: { blockNumber: block, blockHash: aHash(block), timestamp: seconds(block) },
    settled: [],
    released: [],
    forfeited: [],
    charges: [],
    restored: [],
    balances: [],
    ...change,
  };
}

const deposit = aStep(1, undefined, {
  balances: [{ contract, balance: gwei(10_000_000), readAt: startMs }],
});
const key = (index: number) => ({ key: aKey({ nonce: BigInt(index) }) });
const long = aStep(2, deposit.next, {
  settled: Array.from({ length: 120 }, (_, index) => ({ ...key(index), actualCost: gwei(25) })),
  released: Array.from({ length: 90 }, (_, index) => key(120 + index)),
  forfeited: Array.from({ length: 20 }, (_, index) => key(210 + index)),
  charges: [
    { ...loss, amount: 70 },
    { ...loss, counter: 'corrected', amount: -5 },
  ],
  balances: [{ contract, balance: gwei(9_000_000), readAt: startMs }],
});

async function prepared() {
  const place = aPlace();
  const usage = place.process(alive);
  await usage.advance(deposit);
  await filled(usage);
  return { place, usage };
}

test('a long step ends every reservation once, is kept as one step, and moves the cursor last', async () => {
  const { place, usage } = await prepared();
  const before = [...place.rows.reservations.values()];
  const result = await usage.advance(long);
  expect(result.isTaken && sorted(result.ended)).toEqual(sorted(before));
  expect(place.rows.chain).toMatchObject({ cursor: long.next, open: undefined });
  expect(place.open()).toBeUndefined();
  expect(place.rows.counter(aSpend(0))).toMatchObject({ used: 120 * 25 + 20 * 60, reserved: 0, holders: 0 });
  const [first, second, ...more] = place.steps();
  expect([first?.ended.length, second?.ended.length, more]).toEqual([0, many, []]);
  expect(second?.charges).toEqual(long.charges);
});

test('what a step takes is taken with its first part, and what it gives back with its last', async () => {
  const { place } = await prepared();
  let turns = 0;
  const usage = place.process(() => ((turns += 1) === 2 ? 'before' : 'not'));
  await expect(usage.advance(long)).rejects.toThrow('the process ended');
  expect(place.rows.counter(loss)).toMatchObject({ used: 70 });
  expect(place.rows.account({ contract })).toMatchObject({ balance: 9_000_000 });
  expect(place.rows.chain.cursor).toEqual(deposit.next);
  expect(place.rows.reservations.size).toBe(many - itemsPerPart);
});

test('a step that takes a long one back restores every reservation', async () => {
  const { place, usage } = await prepared();
  const before = [...place.rows.reservations.values()];
  await usage.advance(long);
  const restored = place.steps()[1]!.ended.map(({ reservation }) => reservation);
  await usage.advance({ ...aStep(1, long.next, { restored, takesBackAfter: 1 }), next: deposit.next });
  expect(sorted([...place.rows.reservations.values()])).toEqual(sorted(before));
  expect(place.steps().length).toBe(1);
});

test('whatever processes die and come between, a long step is carried out once, and nothing else comes in its middle', async () => {
  const whole = await prepared();
  await whole.usage.advance(long);
  const death = fc.constantFrom('not' as const, 'not' as const, 'before' as const, 'after' as const);
  await fc.assert(
    fc.asyncProperty(
      fc.array(death, { maxLength: 12 }),
      fc.integer({ min: 1, max: 3 }),
      async (deaths, width) => {
        const { place } = await prepared();
        const next = (): 'before' | 'after' | 'not' => deaths.shift() ?? 'not';
        for (let round = 0; place.rows.chain.cursor?.blockNumber !== 2; round++) {
          // Every follower that comes finds the same blocks; one of them may name other endings for them.
          const others = Array.from({ length: width }, (_, index) =>
            place
              .process(next)
              .advance(index === 0 ? long : { ...long, settled: long.settled.slice(5), next: long.next }),
          );
          await Promise.allSettled(others);
          expect(round).toBeLessThan(20);
        }
        expect(place.open()).toBeUndefined();
        expect(place.rows.counter(aSpend(0))?.holders ?? 0).toBeLessThanOrEqual(5);
        const used = place.rows.counter(aSpend(0))?.used;
        expect([120 * 25 + 20 * 60, 115 * 25 + 20 * 60]).toContain(used);
        expect(place.rows.counter(loss)).toEqual(whole.place.rows.counter(loss));
        expect(place.steps().map(({ next: to }) => to.blockNumber)).toEqual([1, 2]);
      },
    ),
    runs(60),
  );
});

test('a step takes the arrows that are drawn in step-parts.ts', async () => {
  type Result = { readonly isTaken: false } | { readonly isTaken: true; readonly isDone: boolean };
  const stateAfter = (result: Result): string => {
    if (!result.isTaken) return 'dropped';
    return result.isDone ? 'taken' : 'open';
  };
  const { place } = await prepared();
  const advance = (step: FollowerStep, from?: OpenStep) =>
    stateAfter(place.rows.turn((turn) => turn.advance(step, from), place.take));
  const short = aStep(2, deposit.next, { released: [key(0)] });
  const openStep = (): OpenStep => ({ step: long, ...place.rows.chain.open! });
  const open = advance(long);
  const beside = advance(short);
  while (openStep().done < many - itemsPerPart) expect(advance(long, openStep())).toBe('open');
  const last = advance(long, openStep());
  const stale = advance(short);
  const only = advance(aStep(3, long.next, {}));
  advance({ ...aStep(2, aStep(3, long.next, {}).next, { takesBackAfter: 2 }), next: long.next });
  const isUndone = !place.steps().some(({ next }) => next.blockNumber === 3);
  expect(
    [
      arrow('decided', 'the first of several parts', open),
      arrow('decided', 'another step is open', beside),
      arrow('open', 'the last part', last),
      arrow('decided', 'the cursor has moved', stale),
      arrow('decided', 'the only part', only),
      arrow('taken', 'a step with takesBackAfter below it', isUndone ? 'undone' : 'taken'),
    ].toSorted(),
  ).toEqual(drawnIn('core/usage/step-parts.ts'));
});
