import { integer, list, object, text } from '../schema/structural.js';
import { foundStatus, userKind } from './user-kind.js';
import type { Budget } from '../policy/budget.js';
import type { OrganisationSpec, OrganisationStatus, OrganisationToken } from './organisation.js';
import {
  address,
  chainId,
  column,
  displayName,
  enforcement,
  instant,
  namespaceName,
  neverFalls,
} from '../meta/schema-parts.js';
import { cycleFields, oneCycle } from '../policy/spending-limit/schema.js';
import { amountIn } from '../policy/spending-limit/threshold.js';
import { contractAction } from './schema-parts.js';

const token = object<OrganisationToken>('A token of the dashboard API.', {
  required: {
    name: displayName('What the token is for, e.g. ci; shown as the creator of what it makes.'),
    sha256: text('SHA-256 of the token, as paymaster token prints it. The token itself is stored nowhere.', {
      maxLength: 64,
      pattern: '^[0-9a-f]{64}$',
      expected: 'the SHA-256 of the token: 64 lowercase hex digits',
      confidential: true,
    }),
  },
  optional: {
    expiresAt: instant('From then on the token is refused, e.g. "2027-01-01T00:00:00Z". Absent means never.'),
  },
});

const dollars = amountIn('USD');

const budget = object<Budget>(
  'A budget. It counts what is promised and spent in mode SPONSORED; the operations of one paymaster that are not mined yet hold at most a quarter of it.',
  {
    required: {
      name: displayName(
        'Name that tenants see, e.g. month. Its count goes on while the name stays; with cycleDuration it begins anew when usd or the duration is edited.',
      ),
      chain: chainId('Chain id, e.g. 8453. A budget is of one chain.'),
      usd: text('US dollars in quotes, e.g. "500". Zero refuses everything.', dollars),
    },
    optional: {
      ...cycleFields,
      enforcement: enforcement('Shadow counts and never refuses. Default Enforce.'),
      restartedAt: instant(
        'Another time than before starts the count anew once it has come, e.g. after the usage store has lost its data.',
      ),
      assumeUsed: text(
        'Of an endless budget: how many US dollars of it count as used since restartedAt, e.g. "120.5".',
        dollars,
      ),
    },
  },
  oneCycle,
  {
    rule: '(has(self.never) && has(self.restartedAt)) || !has(self.assumeUsed)',
    message: 'must be left out without never and restartedAt',
    fieldPath: '.assumeUsed',
  },
);

const spec = object<OrganisationSpec>(
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
        {
          rule: 'self.all(a, self.exists_one(b, a.name == b.name))',
          message: 'must be a list in which no two tokens have the same name',
        },
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
        {
          rule: 'self.all(a, self.exists_one(b, a.name == b.name))',
          message: 'must be a list in which no two budgets have the same name',
        },
      ),
      quotas: object<NonNullable<OrganisationSpec['quotas']>>(
        "How much the organisation may create; a quota that is absent is the platform's.",
        {
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
        },
      ),
    },
  },
  neverFalls('tenantGeneration', 'a former tenant'),
);

export const organisationDefinition = userKind('Organisation', {
  description: 'Makes a namespace an organisation: who may manage it, on which chains, how much.',
  spec,
  status: foundStatus<OrganisationStatus>({}),
  printerColumns: [column('Namespace', 'string', '.spec.namespace', 'Its namespace.')],
  selectableFields: ['spec.namespace'],
});
