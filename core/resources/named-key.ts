import { instant, uniqueBy } from '../meta/schema-parts.js';
import { campaignName } from '../policy/rules/campaign.js';
import { integer, list, object, text, type Infer } from '../schema/structural.js';
import { rateLimit, shortName } from './schema-parts.js';

const octet = '(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])';
/** Of IPv6 networks only the characters are checked: one that cannot be read admits nobody. */
const network = `^(${octet}(\\.${octet}){3}/([12]?[0-9]|3[0-2])|[0-9a-fA-F:]{2,39}/([1-9]?[0-9]|1[01][0-9]|12[0-8]))$`;

export const namedKey = object('A key beside the apiKey, for one program or partner.', {
  required: {
    name: shortName(
      'What it is for, e.g. web or partner-a. Part of the key, and shown in decisions and logs.',
    ),
  },
  optional: {
    generation: integer(
      'Raise it to replace the key alone. Default, and least: higher than that of any name that was removed, see status.keys.',
      { minimum: 1, maximum: 1_000_000 },
    ),
    expiresAt: instant('From then on the key is not known, e.g. "2026-12-01T00:00:00Z". Default: never.'),
    cidrs: list(
      'Networks that may use it, e.g. [203.0.113.0/24]. Absent: every network, an empty list none.',
      text('A network, e.g. 203.0.113.0/24 or 2001:db8::/32.', {
        maxLength: 43,
        pattern: network,
        expected: 'a network such as 203.0.113.0/24 or 2001:db8::/32',
      }),
      { maxItems: 20 },
    ),
    rateLimit: rateLimit("Requests with this key. They count among those of the Paymaster's rateLimit too."),
    campaign: text(
      'The only campaign of its requests, e.g. winter-2026: those that name none belong to it, and those that name another are refused.',
      {
        maxLength: 64,
        pattern: campaignName.source,
        expected: 'a name: letters, digits, ".", "_" and "-", at most 64 characters',
      },
    ),
  },
});

export type NamedKeySpec = Infer<typeof namedKey>;

export const namedKeys = list(
  'Keys with names, beside the apiKey. Each has restrictions of its own and is revoked alone: remove it from the list.',
  namedKey,
  { maxItems: 20 },
  uniqueBy('name', 'keys'),
);

export const namedKeyStatus = list(
  'The keys with names, as they are in force.',
  object('One of them.', {
    required: {
      name: text('Its name in the spec.', { maxLength: 64 }),
      generation: integer('Of which generation it is.', { minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
      fingerprint: text('First 8 hex digits of its SHA-256.', { maxLength: 8 }),
    },
  }),
  { maxItems: 20 },
);
