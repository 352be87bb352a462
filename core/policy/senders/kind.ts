import { quote } from '../../errors.js';
import { address } from '../../meta/schema-parts.js';
import { pass, refuse, type Verdict } from '../../refusal.js';
import { choice, list, object, type Infer } from '../../schema/structural.js';
import { checksumExpectation } from '../../units/address.js';
import { given } from '../../units/given.js';
import type { AppliesTo, PolicyFacts, PolicyIdentity, PolicyKind } from '../kind.js';
import { appliesIn, appliesToSchema, createGlance, decideEach, describeDecision } from '../modes.js';
import { compileAddressList, maxAddresses } from '../address-list.js';

const maxOfPaymaster = 10_000;

const schema = object(
  'Which accounts are served, for policyType SENDERS. Of several active ones each has to let the account pass.',
  {
    required: {
      action: choice(
        'Allow: only these accounts; an empty list refuses everybody. Deny: all accounts but these.',
        ['Allow', 'Deny'],
      ),
      addresses: list(
        `Accounts: the sender of the operation. At most ${maxAddresses}, and ${maxOfPaymaster} in all policies of a paymaster; more need a WEBHOOK.`,
        address('Address of an account, e.g. 0x91E60e0613810449d098b0b5Ec8b51A0FE8c8985.'),
        { maxItems: maxAddresses },
      ),
    },
    optional: { appliesTo: appliesToSchema },
  },
);

type SendersSpec = Infer<typeof schema>;
type SendersConfig = PolicyIdentity &
  AppliesTo & {
    readonly action: SendersSpec['action'];
    /** Hash of the AddressList. */
    readonly list: string;
    readonly count: number;
  };
type Senders = { readonly senders?: readonly SendersConfig[] };

/** Names the accounts that are served, or that are not. */
export const senders = {
  member: 'senders',
  schema,
  most: {
    count: 10,
    name: 'sender lists',
    items: {
      count: maxOfPaymaster,
      name: 'addresses in its sender lists',
      of: (spec) => spec.addresses.length,
    },
  },
  modesOf: ({ appliesTo = ['SPONSORED'] }) => appliesTo,
  problem({ addresses }) {
    const { wrongAt } = compileAddressList(addresses);
    if (wrongAt < 0) return undefined;
    return `spec.senders.addresses[${wrongAt}] must be ${checksumExpectation}, got ${quote(addresses[wrongAt])}.`;
  },
  compile({ spec: { action, addresses, appliesTo }, policyId, name }) {
    const made = compileAddressList(addresses).list;
    const count = made.addresses.length;
    return {
      config: { policyId, name, action, list: made.hash, count, ...given({ appliesTo }) },
      list: made,
    };
  },
  config: {
    write: (policies): Senders => (policies.length === 0 ? {} : { senders: policies }),
    read: ({ senders: policies = [] }, { policyId }) => policies.find((each) => each.policyId === policyId),
    serve: ({ senders: policies }): Senders => (policies === undefined ? {} : { senders: policies }),
    lists: ({ senders: policies = [] }) => policies.map((each) => each.list),
  },
  decision: {
    step: 'senders',
    modes: ['SPONSORED', 'ERC20'],
    applies: ({ senders: policies }, mode) => policies?.some((each) => appliesIn(each, mode)) === true,
    decide: ({ senders: policies = [] }, facts) =>
      decideEach(policies, facts, (each) => decideSender(each, facts)),
  },
  glance: ({ senders: policies = [] }, { facts }) =>
    policies.map((each) => {
      const usual =
        each.action === 'Allow' ? `serves ${accounts(each.count)} alone` : `refuses ${accounts(each.count)}`;
      return createGlance(
        each,
        describeDecision(each, facts, usual, (of) => decideSender(each, of)),
      );
    }),
  record: {
    render: ({ spec: { addresses, ...spec } }) => ({ ...spec, count: addresses.length }),
    answer: {
      required: {
        action: { enum: ['Allow', 'Deny'] },
        count: { type: 'integer', description: 'Number of addresses.' },
      },
      optional: { appliesTo: { type: 'array', items: { enum: ['SPONSORED', 'ERC20'] } } },
    },
  },
} as const satisfies PolicyKind<SendersSpec, SendersConfig, Senders, Senders, never>;

function decideSender({ name, action, list: hash }: SendersConfig, { op, listOf }: PolicyFacts): Verdict {
  const listed = listOf(hash)?.has(op.sender);
  if (listed === undefined) return refuse('SENDERS_UNKNOWN', `policy "${name}": its list is not here yet`);
  if (listed === (action === 'Allow')) return pass;
  return refuse(
    'SENDER_NOT_ALLOWED',
    `${op.sender} is ${listed ? '' : 'not '}on the list of policy "${name}"`,
  );
}

function accounts(count: number): string {
  return count === 1 ? '1 account' : `${count} accounts`;
}
