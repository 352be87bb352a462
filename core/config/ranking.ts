import type { ObjectMeta } from '../meta/meta.js';

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
