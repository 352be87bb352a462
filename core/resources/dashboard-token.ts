import type { ObservedStatus, Resource } from '../meta/meta.js';
import { column, displayName, instant, foundStatus } from '../meta/schema-parts.js';
import {
  choice,
  immutable,
  list,
  object,
  text,
  type CelRule,
  type Infer,
  type SchemaOf,
} from '../schema/structural.js';

/** What a token of the dashboard may do. `write` may do everything that the others may. */
export const tokenScopes = ['read', 'stop', 'finance', 'write'] as const;
export type TokenScope = (typeof tokenScopes)[number];

/** A token in a resource: by its hash alone. */
export const tokenHash = (description: string, ...rules: readonly CelRule[]): SchemaOf<string> =>
  text(
    description,
    {
      maxLength: 64,
      pattern: '^[0-9a-f]{64}$',
      expected: 'the SHA-256 of the token: 64 lowercase hex digits',
      confidential: true,
    },
    ...rules,
  );
const another = 'delete this DashboardToken and create another';

const parent = object(
  'The token with which it ends: where that one is removed or has expired, this one is refused, and deleted.',
  {
    required: {
      sha256: tokenHash('SHA-256 of that token.'),
      uid: text(
        'metadata.uid of the Organisation or DashboardToken that holds it, e.g. 1b4e28ba-2fa1-4d2b-883f-0016d3cca427.',
        {
          minLength: 1,
          maxLength: 64,
        },
      ),
    },
  },
);

export type TokenParent = Infer<typeof parent>;

const spec = object('Who may do what until when.', {
  required: {
    name: displayName('What the token is for, e.g. on call; shown as the creator of what it makes.'),
    // Of two objects with one hash the older counts: none may become the older one of a foreign hash.
    sha256: tokenHash(
      'SHA-256 of the token, as paymaster token prints it. Never changes.',
      immutable(another),
    ),
    scopes: list(
      'What it may do, e.g. [read, stop]: read everything but keys, stop what is served, read what is about money, or (write) all of that and everything else.',
      choice('A scope.', tokenScopes),
      { minItems: 1, maxItems: tokenScopes.length },
    ),
  },
  optional: {
    expiresAt: instant('From then on the token is refused, e.g. "2027-01-01T00:00:00Z". Absent means never.'),
    createdBy: displayName('The token that made it, e.g. ci.'),
    parent,
  },
});

export type DashboardTokenSpec = Infer<typeof spec>;
export type DashboardToken = Resource<'DashboardToken', DashboardTokenSpec, ObservedStatus>;

export const dashboardTokenKind = {
  description: 'A token that may manage the organisation of its namespace through the dashboard API.',
  spec,
  status: foundStatus({}),
  printerColumns: [
    column('Name', 'string', '.spec.name', 'What it is for.'),
    column('Scopes', 'string', '.spec.scopes', 'What it may do.'),
    column('Expires', 'date', '.spec.expiresAt', 'Until when.'),
  ],
  selectableFields: ['spec.sha256'],
} as const;
