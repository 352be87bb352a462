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
export function leavesOf(value: Tree, prefix: FieldPath = []): { path: FieldPath; value: unknown }[] {
  return Object.entries(value)
    .filter(([, child]) => child !== undefined)
    .flatMap(([name, child]) => {
      const path = [...prefix, name];
      return isObject(child) && Object.keys(child).length > 0
        ? leavesOf(child, path)
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

/** True when `path` is `ancestor` or lies below it. */
export function isAtOrBelow(path: string, ancestor: string): boolean {
  return path === ancestor || path.startsWith(`${ancestor}\0`);
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

/** A copy with `value` at `path`; parents that are missing or not objects become objects. */
export function setAt(tree: unknown, path: FieldPath, value: unknown): Tree {
  const [name, ...rest] = path;
  const base = isObject(tree) ? tree : {};
  if (name === undefined) return base;
  return withMember(base, name, rest.length === 0 ? value : setAt(own(base, name), rest, value));
}

/**
 * A copy without `path`. Parents that become empty are removed too, because an object that nobody asked for should
 * not remain, unless `isKept` says that someone did ask for it.
 */
export function removeAt(tree: Tree, path: FieldPath, isKept: (path: FieldPath) => boolean): Tree {
  return removeBelow(tree, path, [], isKept);
}

function removeBelow(tree: Tree, path: FieldPath, at: FieldPath, isKept: (path: FieldPath) => boolean): Tree {
  const [name, ...rest] = path;
  if (name === undefined || !Object.hasOwn(tree, name)) return tree;
  if (rest.length === 0) return withoutMember(tree, name);
  const child = tree[name];
  if (!isObject(child)) return tree;
  const here = [...at, name];
  const shrunk = removeBelow(child, rest, here, isKept);
  return Object.keys(shrunk).length === 0 && !isKept(here)
    ? withoutMember(tree, name)
    : withMember(tree, name, shrunk);
}

function own(tree: Tree, name: string): unknown {
  return Object.hasOwn(tree, name) ? tree[name] : undefined;
}

/** Built from entries, so that a field named `__proto__` is an ordinary field. */
function withMember(tree: Tree, name: string, value: unknown): Tree {
  if (Object.hasOwn(tree, name))
    return Object.fromEntries(Object.entries(tree).map(([key, old]) => [key, key === name ? value : old]));
  return Object.fromEntries([...Object.entries(tree), [name, value]]);
}

function withoutMember(tree: Tree, name: string): Tree {
  return Object.fromEntries(Object.entries(tree).filter(([key]) => key !== name));
}

/** Leaf paths → `{"f:spec":{"f:active":{}}}`. */
export function toFieldsV1(paths: Iterable<string>): FieldsV1 {
  let tree: Tree = {};
  for (const key of [...paths].sort())
    tree = setAt(
      tree,
      pathOfKey(key).map((name) => `f:${name}`),
      {},
    );
  return tree as FieldsV1;
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
