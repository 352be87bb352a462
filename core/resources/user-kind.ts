import type { KindDefinition } from '../schema/crd.js';
import type { SchemaOf } from '../schema/structural.js';
import type { ObservedStatus } from '../meta/meta.js';
import { ageColumn, categories, column, conditions, observedGeneration } from '../meta/schema-parts.js';
import { type Kind, type KindNames, kindNames } from './kinds.js';

const readyColumn = column(
  'Ready',
  'string',
  '.status.conditions[?(@.type=="Ready")].status',
  'Whether this object is in force as written.',
);

const reasonColumn = column(
  'Reason',
  'string',
  '.status.conditions[?(@.type=="Ready")].reason',
  'Why it is ready or not.',
  1,
);

/** The schema of a status: what all kinds have, and what only this one has. */
export function foundStatus<S extends ObservedStatus>(own: {
  readonly [K in Exclude<keyof S, keyof ObservedStatus>]-?: SchemaOf<NonNullable<S[K]>>;
}): SchemaOf<S> {
  const properties = { observedGeneration, conditions, ...own };
  return { type: 'object', description: 'What the operator found.', properties };
}

/**
 * A kind that users write. To its own columns come those that all kinds have, before and after them; to the rest its
 * names and the category of all kinds.
 */
export function userKind<
  D extends Omit<KindDefinition, 'kind' | 'singular' | 'categories' | keyof KindNames>,
>(kind: Kind, own: D) {
  const printerColumns = [readyColumn, reasonColumn, ...own.printerColumns, ageColumn];
  return { kind, singular: kind.toLowerCase(), ...kindNames[kind], categories, ...own, printerColumns };
}
