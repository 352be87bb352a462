import {
  choice,
  integer,
  object,
  text,
  type CelRule,
  type Infer,
  type SchemaOf,
} from '../schema/structural.js';

/** Fields that Chains, Organisations and Paymasters share; fields that every kind has are in `meta/`. */

/** A token bucket: `requests` per `perSeconds` seconds, burst = `requests`. */
export const rateLimit = (description: string) =>
  object(description, {
    required: {
      requests: integer('Requests per period, and the largest burst, e.g. 100.', {
        minimum: 1,
        maximum: 1_000_000,
      }),
      perSeconds: integer('Length of the period in seconds, e.g. 60.', { minimum: 1, maximum: 86_400 }),
    },
  });

export type RateLimit = Infer<ReturnType<typeof rateLimit>>;

export const rateLimits = (description: string) =>
  object(description, {
    optional: {
      perKey: rateLimit('All requests with the apiKey of a Paymaster.'),
      perClient: rateLimit('Requests of one client address to a Paymaster.'),
    },
  });

export type RateLimits = Infer<ReturnType<typeof rateLimits>>;

/** The longest allowed bound: nobody who signs in time needs data that are valid for longer. */
export const expirySeconds = (description: string): SchemaOf<number> =>
  integer(description, { minimum: 1, maximum: 86_400 });

export const contractAction = (description: string) => choice(description, ['Allow', 'Deny']);
export type ContractAction = Infer<ReturnType<typeof contractAction>>;

/** Of a thing that its owner names, and from whose name a key is derived. */
export const shortName = (description: string): SchemaOf<string> =>
  text(description, {
    minLength: 1,
    maxLength: 64,
    pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$',
    expected: 'a name: letters, digits, ".", "_" and "-", at most 64 characters',
  });

/** Name of a profile of a Chain. */
export const version = (description: string, ...rules: readonly CelRule[]): SchemaOf<string> =>
  text(
    description,
    {
      minLength: 1,
      maxLength: 64,
      pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$',
      expected: 'a version such as "1.1.0": letters, digits, ".", "_" and "-", at most 64 characters',
    },
    ...rules,
  );
