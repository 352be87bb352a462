import type { ObjectMeta } from '../meta/meta.js';
import type { PolicyKind } from '../policy/kind.js';
import { policyKinds, type PolicyType } from '../policy/kinds.js';
import { maxContracts } from './paymaster-config.js';

type Object = { readonly metadata: ObjectMeta };

/**
 * Objects in the order of their right to a name. Objects already programmed come first, because taking a name away
 * from a served object would be an outage; then the oldest; then by object name, so that every replica agrees.
 */
export function rank<T extends Object>(
  objects: readonly T[],
  isProgrammed: (object: T) => boolean,
): readonly T[] {
  const programmed = new Set(objects.filter(isProgrammed));
  return [...objects].sort(
    (a, b) => Number(programmed.has(b)) - Number(programmed.has(a)) || compareAge(a, b),
  );
}

/** How many objects come before one of them. Linear; a sort for each of many objects would not be. */
export function countBefore<T extends Object>(
  objects: readonly T[],
  one: T,
  isProgrammed: (object: T) => boolean,
): number {
  const own = Number(isProgrammed(one));
  return objects.filter((each) => (own - Number(isProgrammed(each)) || compareAge(each, one)) < 0).length;
}

/** Oldest first. The children of a paymaster are compiled in this order, so that equal sources compile equally. */
export function compareAge(a: Object, b: Object): number {
  return (
    compareText(a.metadata.creationTimestamp, b.metadata.creationTimestamp) ||
    compareText(a.metadata.name, b.metadata.name)
  );
}

/**
 * Finds the owner of each natural key: maps every object that lost the key to the object that holds it. `ranked` is
 * in the order of {@link rank}.
 */
export function conflicts<T>(ranked: readonly T[], keyOf: (object: T) => string): ReadonlyMap<T, T> {
  const holders = new Map<string, T>();
  const losers = new Map<T, T>();
  for (const object of ranked) {
    const key = keyOf(object);
    const holder = holders.get(key);
    if (holder === undefined) holders.set(key, object);
    else losers.set(object, holder);
  }
  return losers;
}

// RFC 3339 in UTC sorts as text; locale collation would differ between machines.
function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** The message for one policy too many. */
export function tooManyPolicies(type: PolicyType): string {
  const { count, name } = policyKinds[type].most;
  return `A paymaster has at most ${count} active ${name}, and the oldest count: delete or pause one.`;
}

/** The message for a policy that holds more than others leave room for. */
export function tooManyItems(type: PolicyType): string {
  const { items }: PolicyKind['most'] = policyKinds[type].most;
  return `A paymaster has at most ${items?.count} ${items?.name}: this one does not fit, so what was served for it before stays.`;
}

export const tooManyContracts = `A paymaster has at most ${maxContracts} contracts, and the oldest count: delete one.`;

type Aged = { readonly metadata: ObjectMeta };

/**
 * All objects except the oldest `count`. Only the oldest count, so that adding an object can neither slow down nor
 * open up what is served.
 */
export function youngerThan<T extends Aged>(objects: readonly T[], count: number): ReadonlySet<T> {
  if (objects.length <= count) return new Set();
  return new Set([...objects].sort(compareAge).slice(count));
}
