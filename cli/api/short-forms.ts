import { modes } from '../../core/policy/modes.js';
import { isObject } from '../../core/schema/json-value.js';
import { parseChainId } from '../chain-id.js';
import {
  limitExample,
  perOperationExample,
  readAbi,
  readAccounts,
  readLimit,
  readPerOperation,
  readSeconds,
  readTime,
  readTimeZone,
} from './option-values.js';
import { paymasterMember, type Row, type ShortForm } from './short-form.js';

// Options instead of YAML for what most people write: a row for each, with the member of the spec that it stands for.

const paymasterRow: Row = {
  flags: '--paymaster <name>',
  member: paymasterMember,
  says: 'the paymaster that it belongs to; default: the only one',
};
const shadowRow: Row = {
  flags: '--shadow',
  member: 'enforcement',
  says: 'judge and count, and never refuse',
  read: () => 'Shadow',
};

const limit = { PAYMASTER_SA_LIMIT: 'spendingLimit' };
const whole = ['--per-user', '--total'];
const limitRows: readonly Row[] = [
  {
    flags: '--per-user <limit>',
    of: limit,
    adds: { spendingLimit: { scope: 'SMART_ACCOUNT' } },
    says: `what each account may use: ${limitExample}`,
    read: readLimit,
    without: '--total',
  },
  {
    flags: '--total <limit>',
    of: limit,
    adds: { spendingLimit: { scope: 'PAYMASTER' } },
    says: 'what all accounts together may use, written in the same way',
    read: readLimit,
  },
  {
    flags: '--per-operation <amount>',
    of: limit,
    says: `what one operation may cost: ${perOperationExample}; alone, or beside a limit in the same unit`,
    read: readPerOperation,
  },
  {
    flags: '--time-zone <zone>',
    of: { PAYMASTER_SA_LIMIT: 'spendingLimit.calendar' },
    adds: { spendingLimit: { cycleDuration: null } },
    says: 'whose days, weeks and months count, e.g. Europe/Berlin; default: UTC, and a day is 24 hours from the start',
    read: readTimeZone,
    with: whole,
  },
  {
    flags: '--start <time>',
    of: { PAYMASTER_SA_LIMIT: 'spendingLimit.startTime' },
    says: 'when the first hours or days of a limit begin, e.g. 2026-12-01; default: now',
    read: readTime,
    with: whole,
  },
];

const webhookRows: readonly Row[] = [
  {
    flags: '--webhook <url>',
    of: { WEBHOOK: 'webhook.url' },
    says: 'ask this host of yours',
  },
  {
    flags: '--webhook-method <method>',
    of: { WEBHOOK: 'webhook.method' },
    says: 'how it is asked; default: POST',
    choices: ['POST', 'GET'],
    with: ['--webhook'],
  },
  {
    flags: '--webhook-on-error <action>',
    of: { WEBHOOK: 'webhook.onError' },
    says: 'what it means that the host fails; Allow sponsors without a check then; default: Deny',
    choices: ['Deny', 'Allow'],
    with: ['--webhook'],
  },
  {
    flags: '--webhook-timeout <seconds>',
    of: { WEBHOOK: 'webhook.timeoutSeconds' },
    says: 'how long the host has to answer, 0.5 to 10; default: 3',
    read: readSeconds,
    with: ['--webhook'],
  },
];

const accounts = 'an account, or a file with one on each line; may be repeated';
const conditionRows: readonly Row[] = [
  {
    flags: '--allow-deployments',
    of: { WALLET_DEPLOYMENT: 'walletDeployment' },
    says: 'let operations pass that only deploy their account',
    read: () => ({}),
  },
  {
    flags: '--from <time>',
    of: { WINDOW: 'window.from' },
    says: 'nothing passes before this time, e.g. 2026-12-01 (UTC) or 2026-12-01T08:00:00+01:00',
    read: readTime,
  },
  {
    flags: '--until <time>',
    of: { WINDOW: 'window.until' },
    says: 'nothing passes from this time on',
    read: readTime,
  },
  {
    flags: '--allow-sender <account>',
    of: { SENDERS: 'senders.addresses' },
    adds: { senders: { action: 'Allow' } },
    says: `only these accounts pass: ${accounts}`,
    read: readAccounts,
    isList: true,
    without: '--deny-sender',
  },
  {
    flags: '--deny-sender <account>',
    of: { SENDERS: 'senders.addresses' },
    adds: { senders: { action: 'Deny' } },
    says: `all accounts but these pass: ${accounts}`,
    read: readAccounts,
    isList: true,
  },
  {
    flags: '--expression <cel>',
    of: { EXPRESSION: 'expression.text' },
    says: 'a condition that has to hold, in CEL, e.g. \'calls.all(c, c.method == "mint(address)")\'',
  },
  {
    flags: '--allow-no-calls',
    of: { EXPRESSION: 'expression.allowNoCalls' },
    says: 'judge an operation without calls, too; otherwise the expression refuses it',
    read: () => true,
    with: ['--expression'],
  },
  {
    flags: '--applies-to <mode>',
    of: { WINDOW: 'window.appliesTo', SENDERS: 'senders.appliesTo', EXPRESSION: 'expression.appliesTo' },
    says: 'modes in which it judges; may be repeated; default: SPONSORED',
    isList: true,
    choices: modes,
    with: ['--from', '--until', '--allow-sender', '--deny-sender', '--expression'],
  },
];

/** By the operation that writes the same as a whole. */
export const shortForms: Readonly<Record<string, ShortForm>> = {
  createPaymasterObject: {
    kind: 'Paymaster',
    // What nobody has registered is not sponsored.
    usual: { type: 'HYBRID', defaultContractAction: 'Deny' },
    rows: [
      {
        flags: '--chain-id <id>',
        member: 'chainId',
        says: 'the chain, of "paymaster chain list"',
        read: parseChainId,
      },
      {
        flags: '--version <version>',
        member: 'version',
        says: 'of the contract, as "paymaster chain list -o yaml" has it',
      },
    ],
  },
  createContractObject: {
    kind: 'SmartContract',
    usual: {},
    rows: [
      paymasterRow,
      { flags: '--address <address>', member: 'address', says: 'where it is on the chain' },
      {
        flags: '--abi <file>',
        member: 'abi',
        says: 'its ABI as JSON, or what a compiler wrote, with a member abi',
        read: readAbi,
      },
      {
        flags: '--method <method>',
        member: 'whitelistedMethods',
        says: 'a method that is sponsored, e.g. mint; may be repeated',
        isList: true,
      },
    ],
  },
  createPolicyObject: {
    kind: 'PaymasterPolicy',
    usual: {},
    rows: [
      paymasterRow,
      ...limitRows,
      ...webhookRows,
      ...conditionRows,
      {
        flags: '--campaign <name>',
        member: 'campaign',
        says: 'judge only requests that name this campaign, e.g. winter-2026',
      },
      shadowRow,
    ],
  },
};

/** Written as a whole, so that the same command makes it and changes it. */
export const limitForm: ShortForm = {
  kind: 'PaymasterPolicy',
  usual: {},
  rows: [paymasterRow, ...limitRows, shadowRow],
  nameOf({ paymasterRef, spendingLimit }) {
    const { scope, threshold } = isObject(spendingLimit) ? spendingLimit : {};
    const which = threshold === undefined ? 'per-operation' : scope === 'PAYMASTER' ? 'total' : 'per-user';
    return `${String(isObject(paymasterRef) && paymasterRef['name'])}-${which}`;
  },
};
