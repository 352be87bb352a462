import type { FieldsV1 } from './meta.js';
import { isObject } from '../schema/json-value.js';

/**
 * Field paths of an object: listing its leaves, and reading, setting and removing one without changing the original.
 * Objects are granular; scalars, lists and empty objects are leaves.
 */
export type FieldPath = readonly string[];
export type Tree = { readonly [name: string]: unknown };

/** Labels and annotations have this shape. */
export function isTextMap(value: unknown): value is Record<string, string> {
  return isObject(value) && Object.values(value).every((item) => typeof item === 'string');
}

/** Every leaf below `value` with its path; members that are `undefined` count as absent, as in JSON. */
export function listLeaves(value: Tree, prefix: FieldPath = []): Leaf[] {
  return Object.entries(value)
    .filter(([, child]) => child !== undefined)
    .flatMap(([name, child]) => {
      const path = [...prefix, name];
      return isObject(child) && Object.keys(child).length > 0
        ? listLeaves(child, path)
        : [{ path, value: child }];
    });
}

/** A path as a map key. No field name contains NUL. */
export function pathKey(path: FieldPath): string {
  return path.join('\0');
}

export function pathOfKey(key: string): FieldPath {
  return key.split('\0');
}

/** The path as people write it: `spec.funding.address`, `metadata.annotations["paymasters.dev/created-by"]`. */
export function formatPath(path: FieldPath): string {
  return path.reduce(
    (text, name) =>
      /^[A-Za-z0-9_-]+$/.test(name) ? (text === '' ? name : `${text}.${name}`) : `${text}["${name}"]`,
    '',
  );
}

export function getAt(tree: unknown, path: FieldPath): unknown {
  return path.reduce<unknown>(
    (value, name) => (isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined),
    tree,
  );
}

export type Leaf = { readonly path: FieldPath; readonly value: unknown };

/**
 * A copy with every leaf at its path, in their order; parents that are missing or not objects become objects. Each object on the way
 * is copied once, however many leaves lie in it.
 */
export function setAll(tree: unknown, leaves: readonly Leaf[], depth = 0): Tree {
  const members = new Map(isObject(tree) ? Object.entries(tree) : []);
  for (const [name, here] of byName(leaves, depth)) {
    const last = here.findLastIndex(({ path }) => path.length === depth + 1);
    const value = last < 0 ? members.get(name) : here[last]?.value;
    const below = here.slice(last + 1);
    members.set(name, below.length === 0 ? value : setAll(value, below, depth + 1));
  }
  // From entries, so that a field named `__proto__` is an ordinary field.
  return Object.fromEntries(members);
}

/**
 * A copy without the paths. Parents that become empty are removed too, because an object that nobody asked for should not remain,
 * unless `isKept` says that someone did ask for it. Each object on the way is copied once.
 */
export function removeAll(
  tree: Tree,
  paths: readonly FieldPath[],
  isKept: (path: FieldPath) => boolean,
  depth = 0,
): Tree {
  const members = new Map(Object.entries(tree));
  for (const [name, here] of byName(
    paths.map((path) => ({ path })),
    depth,
  )) {
    const child = members.get(name);
    if (here.some(({ path }) => path.length === depth + 1)) members.delete(name);
    else if (isObject(child)) {
      const below = here.map(({ path }) => path);
      const shrunk = removeAll(child, below, isKept, depth + 1);
      const parent = below[0]?.slice(0, depth + 1) ?? [];
      if (Object.keys(shrunk).length === 0 && !isKept(parent)) members.delete(name);
      else members.set(name, shrunk);
    }
  }
  return Object.fromEntries(members);
}

function byName<Item extends { readonly path: FieldPath }>(
  items: readonly Item[],
  depth: number,
): ReadonlyMap<string, readonly Item[]> {
  return Map.groupBy(
    items.filter(({ path }) => path.length > depth),
    ({ path }) => path[depth] ?? '',
  );
}

/** Paths with what lies above them, so that a question about one of them does not read all. */
export class PathSet {
  readonly #paths: ReadonlySet<string>;
  readonly #above = new Set<string>();

  constructor(paths: Iterable<string>) {
    this.#paths = new Set(paths);
    for (const path of this.#paths) for (const ancestor of listAncestors(path)) this.#above.add(ancestor);
  }

  has(path: string): boolean {
    return this.#paths.has(path);
  }

  hasAtOrBelow(path: string): boolean {
    return this.#paths.has(path) || this.#above.has(path);
  }

  hasAtOrAbove(path: string): boolean {
    return this.#paths.has(path) || listAncestors(path).some((ancestor) => this.#paths.has(ancestor));
  }
}

function listAncestors(key: string): string[] {
  const path = pathOfKey(key);
  return path.slice(1).map((_, index) => pathKey(path.slice(0, index + 1)));
}

/** Leaf paths → `{"f:spec":{"f:active":{}}}`. */
export function toFieldsV1(paths: Iterable<string>): FieldsV1 {
  const leaves = [...paths]
    .sort()
    .map((key) => ({ path: pathOfKey(key).map((name) => `f:${name}`), value: {} }));
  return setAll({}, leaves) as FieldsV1;
}

/** The inverse. A node with `.`, or without fields below it, is itself owned. */
export function fromFieldsV1(fields: FieldsV1, prefix: FieldPath = []): string[] {
  return Object.entries(fields).flatMap(([key, below]) => {
    if (!key.startsWith('f:')) return [];
    const path = [...prefix, key.slice(2)];
    const children = fromFieldsV1(below, path);
    return children.length === 0 || Object.hasOwn(below, '.') ? [pathKey(path), ...children] : children;
  });
}

/** Equality of JSON values; the order of members does not count. */
export function isSameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((item, index) => isSameJson(item, b[index]));
  if (!isObject(a) || !isObject(b)) return false;
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && isSameJson(a[name], b[name]))
  );
}
