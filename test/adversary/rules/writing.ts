import type { Zone } from './local-time.js';
import { zones } from './local-time.js';
import type { AmountStep, BudgetStep, CycleStep, EditStep, LimitStep } from './steps.js';
import {
  campaignNames,
  countOf,
  mostWei,
  prices,
  type Budget,
  type Cycle,
  type Limit,
  type Unit,
} from './written.js';

// Steps as what is written.

/** A place always has the same time zone: what a day is in another one is another question. */
export type Place = { readonly zone: Zone; readonly now: number; readonly price: bigint };

/** `held`: what the live promises of a paymaster hold of the budget. */
type BudgetPlace = Place & { readonly held: bigint };

export function zoneOf(paymaster: number, limit: number): Zone {
  return zones[(paymaster * 2 + limit) % zones.length]!;
}

export function budgetZone(organisation: number, budget: number): Zone {
  return zones[(1 + organisation * 2 + budget) % zones.length]!;
}

export function limitOf(step: LimitStep, former: Limit | undefined, { zone, price }: Place): Limit {
  const { unit, isShadow } = step;
  return complete({
    unit,
    perSender: former?.perSender ?? step.perSender,
    ...amounts(unit, step, price),
    cycle: cycleOf(step.cycle, zone),
    isActive: true,
    isShadow,
    ...campaignOf(step.campaign),
    name: 'limit',
  });
}

export function edited(limit: Limit, edit: EditStep, { zone, now, price }: Place): Limit {
  const all = { ...limit };
  switch (edit.of) {
    case 'threshold':
      return complete({
        ...without(all, 'threshold'),
        ...amounts(limit.unit, { threshold: edit.amount }, price),
      });
    case 'perOperation':
      return complete({
        ...without(all, 'perOperation'),
        ...amounts(limit.unit, { perOperation: edit.amount }, price),
      });
    case 'assumeUsed':
      return complete({
        ...without(all, 'assumeUsed'),
        ...(edit.amount === undefined ? {} : { assumeUsed: amountOf(limit.unit, edit.amount, price) }),
      });
    case 'unit': {
      // Amounts of another unit are written anew, and times stay.
      const bare = without(without(all, 'perOperation'), 'assumeUsed');
      return complete({ ...bare, unit: edit.unit, threshold: amountOf(edit.unit, some, price) });
    }
    case 'cycle':
      return complete({ ...all, cycle: cycleOf(edit.cycle, zone) });
    case 'startTime':
    case 'restartedAt':
      return complete({
        ...without(all, edit.of),
        ...(edit.ms === undefined ? {} : { [edit.of]: now + edit.ms }),
      });
    case 'isShadow':
      return { ...all, isShadow: !limit.isShadow };
    case 'isActive':
      return { ...all, isActive: !limit.isActive };
    case 'campaign':
      return { ...without(all, 'campaign'), ...campaignOf(edit.campaign) };
    case 'name':
      return { ...all, name: `${limit.name.slice(0, 5)} ${now}` };
  }
}

export function editedBudget(
  budget: Budget,
  edit: BudgetStep,
  { zone, now, price, held }: BudgetPlace,
): Budget {
  switch (edit.of) {
    case 'usd':
      return { ...budget, usd: amountOf('USD', edit.amount, price) };
    case 'quarter':
      return {
        ...budget,
        usd: 4n * (held + countOf('USD', mostWei(edit.operation), price)!) + BigInt(edit.more),
      };
    case 'cycle':
      return completeBudget({ ...budget, cycle: cycleOf(edit.cycle, zone) });
    case 'restartedAt':
      return completeBudget({
        ...without(budget, 'restartedAt'),
        ...(edit.ms === undefined ? {} : { restartedAt: now + edit.ms }),
      });
    case 'assumeUsed':
      return completeBudget({
        ...without(budget, 'assumeUsed'),
        ...(edit.amount === undefined ? {} : { assumeUsed: amountOf('USD', edit.amount, price) }),
      });
    case 'isShadow':
      return { ...budget, isShadow: !budget.isShadow };
  }
}

const some: AmountStep = { times: 3, operation: 1, price: 0, more: 0 };

/** Leaves out what the definition does not take together. */
function complete(limit: Limit): Limit {
  let one = limit;
  if (one.unit === 'COUNT') one = without(one, 'perOperation');
  if (one.threshold === undefined && one.perOperation === undefined)
    one = { ...one, threshold: amountOf(one.unit, some, prices[0]) };
  if (one.cycle.kind === 'hours') one = without(one, 'restartedAt');
  else one = without(one, 'startTime');
  return one.cycle.kind === 'never' ? one : without(one, 'assumeUsed');
}

function completeBudget(budget: Budget): Budget {
  const isAssuming = budget.cycle.kind === 'never' && budget.restartedAt !== undefined;
  return isAssuming ? budget : without(budget, 'assumeUsed');
}

function amounts(
  unit: Unit,
  {
    threshold,
    perOperation,
  }: { readonly threshold?: AmountStep | undefined; readonly perOperation?: AmountStep | undefined },
  price: bigint,
) {
  return {
    ...(threshold === undefined ? {} : { threshold: amountOf(unit, threshold, price) }),
    ...(perOperation === undefined ? {} : { perOperation: amountOf(unit, perOperation, price) }),
  };
}

/** Amounts of the coin get a part of a gwei, which counts for nothing. */
function amountOf(unit: Unit, { times, operation, price, more }: AmountStep, now: bigint): bigint {
  if (unit === 'COUNT') return BigInt(times);
  const rate = price === undefined ? now : prices[price];
  const counted = BigInt(times) * countOf(unit, mostWei(operation), rate)! + BigInt(more);
  if (counted <= 0n) return 0n;
  return unit === 'NATIVE_ASSET' ? counted * 10n ** 9n + 499_999_999n : counted;
}

function cycleOf({ kind, hours }: CycleStep, zone: Zone): Cycle {
  switch (kind) {
    case 'hours':
      return { kind, hours };
    case 'never':
      return { kind };
    default:
      return { kind: 'calendar', every: kind, zone };
  }
}

function campaignOf(campaign: number): { readonly campaign?: string } {
  const name = campaignNames[campaign - 1];
  return name === undefined ? {} : { campaign: name };
}

function without<T extends object, K extends keyof T>(all: T, name: K): T {
  const { [name]: _, ...rest } = all;
  return rest as T;
}
