import { getAt, type Tree } from '../../core/meta/field-tree.js';
import { given } from '../../core/units/given.js';
import { wrong, type FieldRow, type Format } from './document.js';
import {
  aLimit,
  countOf,
  cycles,
  dollarsOf,
  campaignNote,
  aLimitPerOperation,
  noWebhook,
  theWindow,
  type CycleName,
} from './parts.js';
import { isObject } from '../../core/schema/json-value.js';

/** `global` and `user` of `limits`. */
function limitRows(part: string, scope: 'PAYMASTER' | 'SMART_ACCOUNT', whose: string): readonly FieldRow[] {
  const at = `limits.${part}`;
  const cycleOf = (policy: Tree): CycleName => {
    const name = getAt(policy, ['limits', part, 'reset_interval']) ?? 'never';
    if (typeof name === 'string' && Object.hasOwn(cycles, name)) return name as CycleName;
    throw wrong(`${at}.reset_interval`, `one of ${Object.keys(cycles).join(', ')}`, name);
  };
  const spending = `${at}.user_operation_spending`;
  const count = `${at}.maximum_user_operation_count`;
  return [
    {
      field: spending,
      becomes: `a limit of ${whose} in USD; \`amount\` is in cents`,
      take: (value, policy) => {
        const threshold = centsOf(spending, value);
        return aLimit(`${part}-usd`, { scope, threshold, thresholdType: 'USD' }, cycleOf(policy));
      },
    },
    {
      field: count,
      becomes: `a limit of ${whose} in COUNT`,
      take: (value, policy) => {
        const threshold = countOf(count, value);
        return aLimit(`${part}-count`, { scope, threshold, thresholdType: 'COUNT' }, cycleOf(policy));
      },
    },
    {
      field: `${at}.reset_interval`,
      becomes: '`never: {}`, or `calendar` by day, week or month in UTC',
    },
  ];
}

function centsOf(field: string, value: unknown): string {
  const { amount, currency } = isObject(value) ? value : {};
  if (currency !== 'USD') throw wrong(`${field}.currency`, 'USD', currency);
  return dollarsOf(`${field}.amount`, amount, 100);
}

/** The Sponsorship Policy object of the platform API (documentation of 2026-08). */
export const pimlico: Format = {
  policyOf: (document) => document,
  nameOf: (policy) => policy['policy_name'],
  campaignOf: (policy) => policy['id'],
  isActive: (policy) => [undefined, 'active'].includes(policy['policy_status'] as string | undefined),
  rows: [
    { field: 'id', becomes: '`campaign` of every policy; requests go on naming it', take: campaignNote },
    { field: 'policy_name', becomes: '`name` of every policy' },
    { field: 'policy_status', becomes: '`active`' },
    { field: 'created_at', becomes: '–' },
    {
      field: 'start_time',
      becomes: '`from` of a WINDOW',
      take: (_, policy) => windowOf(policy),
    },
    {
      field: 'end_time',
      becomes: '`until` of a WINDOW',
      take: (_, policy) =>
        policy['start_time'] === null || policy['start_time'] === undefined
          ? windowOf(policy)
          : { policies: [] },
    },
    {
      field: 'webhook_endpoint',
      becomes: 'nothing: its requests and answers are others',
      take: (_, policy) => (policy['webhook_enabled'] === false ? { policies: [] } : noWebhook),
    },
    { field: 'webhook_enabled', becomes: 'as `webhook_endpoint`' },
    {
      field: 'chain_ids.allowlist',
      becomes: 'a Paymaster for each chain',
      take: (value) => ({ note: `a Paymaster is of one chain: import it for each of ${String(value)}` }),
    },
    ...limitRows('global', 'PAYMASTER', 'all users'),
    ...limitRows('user', 'SMART_ACCOUNT', 'each account'),
    {
      field: 'limits.user_operation.user_operation_spending',
      becomes: 'a limit with `perOperation` in USD; `amount` is in cents',
      take: (value) => aLimitPerOperation(centsOf('limits.user_operation.user_operation_spending', value)),
    },
  ],
};

function windowOf({ start_time, end_time }: Tree) {
  const times = given({ from: textOf(start_time), until: textOf(end_time) });
  return { policies: [theWindow('window', times)] };
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : undefined);
