import { describe, expect, test } from '@jest/globals';
import { budgetsFinding, budgetsOn } from '../../../core/config/budgets.js';
import { compilePaymaster } from '../../../core/config/compile.js';
import { deriveBudgetId, derivePolicyId } from '../../../core/config/ids.js';
import { buryPaymaster } from '../../../core/config/tombstone.js';
import { writeParts } from '../../../core/policy/derived.js';
import { compileLimits, limitShares } from '../../../core/policy/spending-limit/shares.js';
import type { Budget } from '../../../core/policy/budget.js';
import { toAddressKey, zeroAddress } from '../../../core/units/address.js';
import { formatInstant, type EpochMs } from '../../../core/units/time.js';
import type { Organisation } from '../../../core/resources/organisation.js';
import { aPaymaster, aPolicy, anOrganisation } from '../../build/resources.js';
import { someNow, someSources } from '../../build/sources.js';

const chain = someSources().paymaster.spec.chainId;
const aBudget = (more: Partial<Budget> = {}): Budget => ({
  name: 'month',
  chain,
  usd: '500',
  calendar: { every: 'month', timeZone: 'UTC' },
  ...more,
});
/** The tests' month begins at `someNow`. */
const inTheMonth = formatInstant((someNow + 3_600_000) as EpochMs);
const laterThen = (someNow + 7_200_000) as EpochMs;
const endless = { calendar: undefined, never: {} } as unknown as Partial<Budget>;
const withBudgets = (...budgets: readonly Budget[]) => anOrganisation({ budgets });
const compile = (...budgets: readonly Budget[]) =>
  compilePaymaster(someSources({ organisation: withBudgets(...budgets), policies: [aPolicy()] }));
const limitsOf = (organisation: Organisation) => writeParts(budgetsOn(organisation, chain).served).limits;

/** The counter and window in which it counts at a time. */
function countedAt(budget: Budget, now: EpochMs = someNow) {
  const limits = limitsOf(withBudgets(budget));
  const cost = { wei: 0n, usdPerNative: 0n };
  const [share] = limitShares(compileLimits(limits), { sender: toAddressKey(zeroAddress), cost, now });
  return share;
}

const placeOf = (budget: Budget, now?: EpochMs) => {
  const share = countedAt(budget, now);
  return share && { counter: share.counter, window: share.window, threshold: share.threshold };
};

describe('a budget of an Organisation', () => {
  test('is one more limit of each of its paymasters on that chain, after their own', () => {
    const { config } = compile(aBudget(), aBudget({ name: 'elsewhere', chain: chain + 1 }));
    expect(config.limits.map(({ name, budget }) => [name, budget])).toEqual([
      [aPolicy().spec.name, undefined],
      ['month', true],
    ]);
    const other = compilePaymaster(
      someSources({
        organisation: withBudgets(aBudget()),
        paymaster: aPaymaster({ meta: { name: 'another' } }),
      }),
    );
    expect(other.config.limits.map(({ policyId }) => policyId)).toEqual([config.limits[1]?.policyId]);
  });

  test('does not follow a paymaster to another chain, and counts nothing of what it sponsors there', () => {
    const moved = compilePaymaster(
      someSources({
        organisation: withBudgets(aBudget()),
        paymaster: aPaymaster({ chainId: chain + 1 }),
        previous: compile(aBudget()).config,
        policies: [],
      }),
    );
    expect([moved.config.limits, moved.config.memory?.cycles?.map(({ policyId }) => policyId)]).toEqual([
      [],
      [derivePolicyId('acme', aPolicy().metadata.name)],
    ]);
  });

  test('counts for one tenant alone: neither for another organisation nor for the next one of its namespace', () => {
    const ids = [
      withBudgets(aBudget()),
      anOrganisation({ namespace: 'other', budgets: [aBudget()] }),
      anOrganisation({ tenantGeneration: 2, budgets: [aBudget()] }),
    ].map((organisation) => limitsOf(organisation)[0]?.policyId);
    expect(ids[0]).toBe(deriveBudgetId(withBudgets(aBudget()).spec.namespace, 'month'));
    expect(new Set(ids).size).toBe(3);
  });

  test('of a calendar or endless goes on in its counter when it is edited, made again, or paused by Shadow, and begins anew by restartedAt alone', () => {
    const before = countedAt(aBudget())?.counter;
    expect(countedAt(aBudget({ usd: '7' }))?.counter).toBe(before);
    expect(countedAt(aBudget({ enforcement: 'Shadow' }))?.counter).toBe(before);
    expect(countedAt(aBudget({ restartedAt: inTheMonth }), laterThen)?.counter).not.toBe(before);
    expect(countedAt(aBudget(endless), (someNow + 10 ** 12) as EpochMs)?.counter).toBe(
      countedAt(aBudget(endless))?.counter,
    );
  });

  test('of a length counts windows from 1970, so that all paymasters agree about them', () => {
    const day = countedAt({
      name: 'day',
      chain,
      usd: '1',
      cycleDuration: { value: 1, unit: 'day' },
    })?.window;
    expect([day && day.from % 86_400_000, day && day.until - day.from]).toEqual([0, 86_400_000]);
  });

  test('of a length begins anew when its amount or its length is edited, and not when anything else is', () => {
    const daily = {
      calendar: undefined,
      cycleDuration: { value: 1, unit: 'day' },
    } as unknown as Partial<Budget>;
    const before = countedAt(aBudget(daily))?.counter;
    expect(countedAt(aBudget({ ...daily, enforcement: 'Shadow' }))?.counter).toBe(before);
    const edited = [
      countedAt(aBudget({ ...daily, usd: '7' })),
      countedAt(aBudget({ ...daily, cycleDuration: { value: 2, unit: 'day' } })),
    ].map((share) => share?.counter);
    expect(new Set([before, ...edited]).size).toBe(3);
  });

  test('counts a month that began after its restartedAt as without it, so that removing the field restarts nothing', () => {
    const restarted = aBudget({ restartedAt: inTheMonth });
    const march = Date.parse('2026-03-03T00:00:00Z') as EpochMs;
    expect(countedAt(restarted, laterThen)?.counter).not.toBe(countedAt(aBudget(), laterThen)?.counter);
    expect(placeOf(restarted, march)).toEqual(placeOf(aBudget(), march));
  });

  test('counts in the former counter until its restartedAt comes, and all paymasters turn then, whenever they were compiled', () => {
    const restartedAt = '2030-01-01T00:00:00Z';
    const comes = Date.parse(restartedAt) as EpochMs;
    const [before, after] = [(comes - 1) as EpochMs, comes];
    for (const cycle of [endless, {}]) {
      const restarted = aBudget({ ...cycle, restartedAt });
      const limits = limitsOf(withBudgets(restarted));
      const compiled = compileLimits(limits);
      const shareAt = (now: EpochMs) =>
        limitShares(compiled, {
          sender: toAddressKey(zeroAddress),
          cost: { wei: 0n, usdPerNative: 0n },
          now,
        })[0];
      // One and the same compiled limit, as a replica keeps it.
      expect(shareAt(before)?.counter).toBe(countedAt(aBudget(cycle), before)?.counter);
      expect(shareAt(before)?.window.until).toBe(comes);
      expect(shareAt(after)?.counter).not.toBe(countedAt(aBudget(cycle), after)?.counter);
    }
  });

  test('leaves what is assumed to be used out of what may be spent', () => {
    const used = aBudget({ ...endless, restartedAt: '2026-01-01T00:00:00Z', assumeUsed: '499.5' });
    expect(countedAt(used)?.threshold).toBe(500_000);
  });

  test('that nobody can read refuses everything on its chain, except in Shadow', () => {
    const broken = aBudget({ calendar: { every: 'month', timeZone: 'Nowhere/City' } });
    expect(compile(broken).config).toMatchObject({ invalidPolicies: ['budget month'] });
    expect(compile(broken).config.limits.some(({ budget }) => budget)).toBe(false);
    expect(compile({ ...broken, enforcement: 'Shadow' }).config.invalidPolicies).toEqual([]);
    expect(compile({ ...broken, chain: chain + 1 }).config.invalidPolicies).toEqual([]);
  });

  test('leaves nothing in the memory of a paymaster that is deleted', () => {
    const { config } = compilePaymaster(someSources({ organisation: withBudgets(aBudget()), policies: [] }));
    const after = compilePaymaster(someSources({ previous: config, policies: [] })).config;
    expect([after.memory, after.limits]).toEqual([undefined, []]);
    expect(buryPaymaster(config, someNow).memory).toBeUndefined();
  });
});

describe('the status of an Organisation', () => {
  const priced = () => ({ nativePrice: {} });
  test.each<{ name: string; budget: Budget; reason: string; says: string }>([
    {
      name: 'a time zone that does not exist',
      budget: aBudget({ calendar: { every: 'day', timeZone: 'Nowhere/City' } }),
      reason: 'Invalid',
      says: 'spec.budgets[0].calendar.timeZone must be the name of a time zone',
    },
    {
      name: 'usd that is not an amount',
      budget: aBudget({ usd: '5 dollars' }),
      reason: 'Invalid',
      says: 'spec.budgets[0].usd must be an amount of US dollars of at most 6 decimals and 9 digits before them, got "5 dollars"',
    },
    {
      name: 'two cycles',
      budget: aBudget({ never: {} }),
      reason: 'Invalid',
      says: 'exactly one of cycleDuration, calendar and never',
    },
    {
      name: 'restartedAt that is not a time',
      budget: aBudget({ restartedAt: 'today' }),
      reason: 'Invalid',
      says: 'restartedAt must be an RFC 3339 time, got "today"',
    },
    {
      name: 'a length of nothing',
      budget: aBudget({ calendar: undefined, cycleDuration: { value: 0, unit: 'day' } } as never),
      reason: 'Invalid',
      says: 'spec.budgets[0].cycleDuration.value must be a whole number from 1 to',
    },
    {
      name: 'assumeUsed that is not an amount',
      budget: aBudget({ ...endless, restartedAt: '2026-01-01T00:00:00Z', assumeUsed: 'all' }),
      reason: 'Invalid',
      says: 'spec.budgets[0].assumeUsed must be an amount of US dollars',
    },
  ])('names $name', ({ budget, reason, says }) => {
    const found = budgetsFinding(withBudgets(budget), priced);
    expect(found).toMatchObject({ type: 'Accepted', status: 'False', reason });
    expect(found?.message).toContain(says);
  });

  test('names a chain without a price for its coin, and waits for one that is not there yet', () => {
    expect(budgetsFinding(withBudgets(aBudget()), () => ({}))).toMatchObject({
      reason: 'NoNativePrice',
      message: `spec.budgets[0] ("month") needs spec.nativePrice of Chain ${chain}.`,
    });
    expect(budgetsFinding(withBudgets(aBudget()), () => undefined)).toBeUndefined();
    expect(budgetsFinding(withBudgets(aBudget()), priced)).toBeUndefined();
  });
});
