import { integer, list, object, type Infer } from '../schema/structural.js';
import type { ObservedStatus, Resource } from '../meta/meta.js';
import { budget } from '../policy/budget.js';
import {
  address,
  chainId,
  column,
  displayName,
  instant,
  namespaceName,
  neverFalls,
  foundStatus,
  uniqueBy,
} from '../meta/schema-parts.js';
import { notifications } from './notification.js';
import { tokenHash } from './dashboard-token.js';
import { contractAction } from './schema-parts.js';

const token = object('A token of the dashboard API.', {
  required: {
    name: displayName('What the token is for, e.g. ci; shown as the creator of what it makes.'),
    sha256: tokenHash(
      'SHA-256 of the token, as paymaster token prints it. The token itself is stored nowhere.',
    ),
  },
  optional: {
    expiresAt: instant('From then on the token is refused, e.g. "2027-01-01T00:00:00Z". Absent means never.'),
  },
});

const spec = object(
  'What the platform grants.',
  {
    required: {
      namespace: namespaceName(
        'The namespace that is this organisation, e.g. team-a; one Organisation each.',
      ),
    },
    optional: {
      tenantGeneration: integer(
        'Raise it when the namespace is given to another tenant: apiKeys, ids, counters, funding proofs and webhook keys of the former one hold no longer. Default 1.',
        { minimum: 1, maximum: 1_000_000 },
      ),
      tokens: list(
        'Tokens that may manage the organisation through the dashboard API.',
        token,
        { maxItems: 64 },
        uniqueBy('name', 'tokens'),
      ),
      fundingAddresses: list(
        'Funding wallets that the platform vouches for: a Paymaster of the organisation may name them without a signature.',
        address('Address of a wallet, e.g. 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed.'),
        { maxItems: 256 },
      ),
      chains: list(
        'Chains that the organisation may use, e.g. [1, 8453]. Absent means all.',
        chainId('Chain id, e.g. 8453.'),
        {
          maxItems: 256,
        },
      ),
      defaultContractAction: contractAction(
        "What happens while a Paymaster that does not say has no SmartContract: Allow sponsors calls to any contract, Deny sponsors none. Absent: the platform's default.",
      ),
      budgets: list(
        'What all paymasters of the organisation may sponsor on a chain together, in US dollars. The Chain needs nativePrice.',
        budget,
        { maxItems: 4 },
        uniqueBy('name', 'budgets'),
      ),
      notifications,
      quotas: object("How much the organisation may create; a quota that is absent is the platform's.", {
        optional: {
          paymasters: integer('Paymasters, e.g. 100.', { minimum: 0, maximum: 1_000_000 }),
          contractsPerPaymaster: integer('SmartContracts of one Paymaster, e.g. 50.', {
            minimum: 0,
            maximum: 1000,
          }),
          policiesPerPaymaster: integer('PaymasterPolicies of one Paymaster, e.g. 20.', {
            minimum: 0,
            maximum: 1000,
          }),
        },
      }),
    },
  },
  neverFalls('tenantGeneration', 'a former tenant'),
);

export type OrganisationSpec = Infer<typeof spec>;
export type Organisation = Resource<'Organisation', OrganisationSpec, ObservedStatus>;

export const organisationKind = {
  description: 'Makes a namespace an organisation: who may manage it, on which chains, how much.',
  spec,
  status: foundStatus({}),
  printerColumns: [column('Namespace', 'string', '.spec.namespace', 'Its namespace.')],
  selectableFields: ['spec.namespace'],
} as const;
