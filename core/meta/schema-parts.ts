import type { PrinterColumn } from '../schema/crd.js';
import { given } from '../units/given.js';
import type { CycleUnit } from '../units/time.js';
import { maxMessageLength } from './conditions.js';
import type { Condition } from './meta.js';
import {
  boolean,
  type CelRule,
  choice,
  integer,
  keyedList,
  object,
  type SchemaOf,
  type StructuralSchema,
  text,
} from '../schema/structural.js';

/** Fields that several kinds share, so that a name, an address or an amount has the same rules everywhere. */

export const address = (description: string, ...rules: readonly CelRule[]): SchemaOf<string> =>
  text(
    description,
    {
      maxLength: 42,
      pattern: '^0x[0-9a-fA-F]{40}$',
      expected: 'an address: 0x and 40 hex digits',
      eip55: true,
    },
    ...rules,
  );

/** The name of another object in the same namespace (DNS-1123 subdomain). */
export const objectName = (description: string, ...rules: readonly CelRule[]): SchemaOf<string> =>
  text(
    description,
    {
      minLength: 1,
      maxLength: 253,
      pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$',
      expected: 'an object name: lowercase letters, digits, "-" and ".", at most 253 characters',
    },
    ...rules,
  );

/** A namespace (DNS-1123 label). */
export const namespaceName = (description: string): SchemaOf<string> =>
  text(description, {
    minLength: 1,
    maxLength: 63,
    pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$',
    expected: 'a namespace: lowercase letters, digits and "-", at most 63 characters',
  });

/** A name for people: printable, not blank. */
export const displayName = (description: string, ...rules: readonly CelRule[]): SchemaOf<string> =>
  text(
    description,
    {
      minLength: 1,
      maxLength: 128,
      // It can match in one way only: a pattern with many ways would take quadratic time on a long input.
      pattern: '^ *[^\\x00-\\x20\\x7f][^\\x00-\\x1f\\x7f]*$',
      expected: 'a name of 1 to 128 characters, not blank and without control characters',
    },
    ...rules,
  );

export const chainId = (description: string, ...rules: readonly CelRule[]): SchemaOf<number> =>
  integer(description, { minimum: 1, maximum: Number.MAX_SAFE_INTEGER }, ...rules);

/** A file in a directory that the process mounts; only a name, so that nobody can read outside that directory. */
export const mountedFile = (description: string): SchemaOf<string> =>
  text(description, {
    minLength: 1,
    maxLength: 253,
    pattern: '^[A-Za-z0-9_][A-Za-z0-9._-]*$',
    expected: 'the name of a mounted file, without a directory and not beginning with "."',
  });

export const httpUrl = (
  description: string,
  hints: { readonly confidential?: true } = {},
): SchemaOf<string> =>
  text(description, {
    minLength: 8,
    maxLength: 2048,
    pattern: '^https?://[^\\s]+$',
    expected: 'an http:// or https:// URL of at most 2048 characters',
    ...hints,
  });

/**
 * A block explorer, whose pages are linked with paths added: so without user information, query and fragment, and nothing that could be
 * another scheme. Without TLS only on this machine.
 */
export const explorerUrl = (description: string): SchemaOf<string> =>
  text(description, {
    minLength: 8,
    maxLength: 256,
    pattern:
      '^(https://[A-Za-z0-9.-]+|http://(localhost|127\\.0\\.0\\.1))(:[0-9]{1,5})?(/[A-Za-z0-9._~-]+)*/?$',
    expected:
      'an https:// URL without user, query and fragment, at most 256 characters; http:// only for localhost',
  });

/** An amount of native coins. */
export const coins = (description: string): SchemaOf<string> =>
  text(description, {
    minLength: 1,
    maxLength: 26,
    pattern: '^(0|[1-9][0-9]{0,6})(\\.[0-9]{1,18})?$',
    expected:
      'decimal text in quotes such as "0.05": not negative, at most 7 digits before and 18 after the point',
  });

/** Days that exist: up to the 28th of any month, the last days of the longer ones, and the 29th of February of a leap year. */
const day = [
  '[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])',
  '[0-9]{4}-(0[13-9]|1[0-2])-(29|30)',
  '[0-9]{4}-(0[13578]|1[02])-31',
  '([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-02-29',
].join('|');

/** RFC 3339 with at most milliseconds, the precision of the API's epochs. */
export const instant = (description: string): SchemaOf<string> =>
  text(description, {
    maxLength: 29,
    pattern: `^(${day})T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,3})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`,
    expected: 'a time such as "2026-01-31T12:00:00Z" (RFC 3339), of a day that exists',
  });

export const paymasterRef = (description: string) =>
  object(
    description,
    {
      required: { name: objectName('Name of the Paymaster object, in the same namespace, e.g. shop.') },
    },
    { rule: 'self == oldSelf', message: 'must be left as it was: delete this object and create another' },
  );

/** Shadow judges and never refuses. */
export type Enforcement = 'Enforce' | 'Shadow';

export const enforcement = (description: string): SchemaOf<Enforcement> =>
  choice(description, ['Enforce', 'Shadow']);

export const cycleUnit = (description: string): SchemaOf<CycleUnit> => choice(description, ['hour', 'day']);

export const observedGeneration = integer('The metadata.generation that this status describes.', {
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
});

/** `metav1.Condition`. */
const condition: SchemaOf<Condition> = object('One aspect of the state of this object.', {
  required: {
    type: text('Which aspect, e.g. Ready.', { minLength: 1, maxLength: 316 }),
    status: choice('Whether it holds.', ['True', 'False', 'Unknown']),
    reason: text('A documented constant that says why.', {
      minLength: 1,
      maxLength: 1024,
      pattern: '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$',
    }),
    message: text('What is wrong and what to do about it.', { maxLength: maxMessageLength }),
    observedGeneration,
    lastTransitionTime: instant('When the status of this condition last changed.'),
  },
});

export const conditions: SchemaOf<readonly Condition[]> = keyedList(
  'What is known about this object. Ready is the summary.',
  'type',
  condition,
  { maxItems: 16 },
);

/** The schema of a status: what all kinds have, and what only this one has. */
export function foundStatus<O extends Readonly<Record<string, StructuralSchema>>>(own: O) {
  return object('What the operator found.', { optional: { observedGeneration, conditions, ...own } });
}

/** A column of `kubectl get`. Priority 1: shown with `-o wide`. */
export function column(
  name: string,
  type: PrinterColumn['type'],
  jsonPath: string,
  description: string,
  priority?: 1,
): PrinterColumn {
  return { name, type, jsonPath, description, ...given({ priority }) };
}

/** A column of kinds that belong to a Paymaster. */
export const paymasterColumn = column('Paymaster', 'string', '.spec.paymasterRef.name', 'Its Paymaster.');
/** From the status: `spec.active` may be absent, which means true. */
export const activeColumn = column('Active', 'boolean', '.status.active', 'False is paused.');
export const activeStatus = boolean('Whether it counts; false is paused. Absent in the spec means true.');
export const ageColumn = column('Age', 'date', '.metadata.creationTimestamp', 'Time since it was created.');

/** `kubectl get paymaster-operator` lists every kind. */
export const categories = ['paymaster-operator'] as const;

/** For a generation, which may be given once and from then on only rise; `former` is what a lower one would bring back. */
export function neverFalls(field: string, former: string): CelRule {
  return {
    rule: `!has(oldSelf.${field}) || (has(self.${field}) && self.${field} >= oldSelf.${field})`,
    message: `must be the same or higher than before: a lower one would bring ${former} back`,
    fieldPath: `.${field}`,
  };
}

/** For objects with a `keyGeneration` and a `previousKeyUntil`. */
export const hasPreviousKey: CelRule = {
  rule: '!has(self.previousKeyUntil) || (has(self.keyGeneration) && self.keyGeneration > 1)',
  message: 'must be left out until keyGeneration is at least 2: the first key has no previous one',
  fieldPath: '.previousKeyUntil',
};

export function exactlyOneOf(...names: readonly string[]): CelRule {
  const given = names.map((name) => `has(self.${name})`);
  return {
    rule: given.length === 2 ? given.join(' != ') : `[${given.join(', ')}].filter(one, one).size() == 1`,
    message: `must be given by exactly one of ${names.slice(0, -1).join(', ')} and ${names.at(-1)}`,
  };
}

/** For a list whose items are told apart by a field; `items` in the plural. */
export function uniqueBy(field: string, items: string): CelRule {
  return {
    rule: `self.all(a, self.exists_one(b, a.${field} == b.${field}))`,
    message: `must be a list in which no two ${items} have the same ${field}`,
  };
}
