import { getAt, type Tree } from '../../core/meta/field-tree.js';
import { given } from '../../core/units/given.js';
import { wrong, type FieldRow, type Format } from './document.js';
import {
  aLimit,
  countOf,
  dollarsOf,
  campaignNote,
  aLimitPerOperation,
  noWebhook,
  theSenders,
  theWindow,
} from './parts.js';
import { isObject } from '../../core/schema/json-value.js';

const spendRow = (member: string, scope: 'PAYMASTER' | 'SMART_ACCOUNT', end: string): FieldRow => ({
  field: `rules.${member}`,
  becomes: `an endless limit of ${scope === 'PAYMASTER' ? 'all users' : 'each account'} in USD`,
  take: (value) =>
    aLimit(end, { scope, threshold: dollarsOf(`rules.${member}`, value), thresholdType: 'USD' }),
});

const countRow = (member: string, scope: 'PAYMASTER' | 'SMART_ACCOUNT', end: string): FieldRow => ({
  field: `rules.${member}`,
  becomes: `an endless limit of ${scope === 'PAYMASTER' ? 'all users' : 'each account'} in COUNT`,
  take: (value) =>
    aLimit(end, { scope, threshold: countOf(`rules.${member}`, value), thresholdType: 'COUNT' }),
});

const chainsOf = (value: unknown) => ({
  note: `a Paymaster is of one chain: import it for each of ${String(value)}`,
});

/** A policy of the Gas Manager Admin API: the body that creates one, or its answer (documentation of 2026). */
export const alchemy: Format = {
  policyOf(document) {
    const data = isObject(document['data']) ? document['data'] : document;
    return data['policy'] ?? data;
  },
  nameOf: (policy) => policy['policyName'],
  campaignOf: (policy) => policy['policyId'],
  isActive: (policy) => [undefined, 'active'].includes(policy['status'] as string | undefined),
  rows: [
    {
      field: 'policyId',
      becomes: '`campaign` of every policy; requests name it as `sponsorshipPolicyId`',
      take: campaignNote,
    },
    { field: 'policyName', becomes: '`name` of every policy' },
    { field: 'status', becomes: '`active`' },
    {
      field: 'policyType',
      becomes: '`sponsorship` alone is taken',
      take: (value) => {
        if (value !== 'sponsorship') throw wrong('policyType', 'sponsorship', value);
        return { policies: [] };
      },
    },
    { field: 'appId', becomes: '–' },
    { field: 'policyState', becomes: '–' },
    { field: 'policyVersion', becomes: '–' },
    { field: 'lastUpdatedUnix', becomes: '–' },
    { field: 'network', becomes: 'a Paymaster', take: chainsOf },
    { field: 'networks', becomes: 'a Paymaster for each chain', take: chainsOf },
    spendRow('maxSpendUsd', 'PAYMASTER', 'usd'),
    spendRow('maxSpendPerSenderUsd', 'SMART_ACCOUNT', 'usd-per-sender'),
    {
      field: 'rules.maxSpendPerUoUsd',
      becomes: 'a limit with `perOperation` in USD',
      take: (value) => aLimitPerOperation(dollarsOf('rules.maxSpendPerUoUsd', value)),
    },
    countRow('maxCount', 'PAYMASTER', 'count'),
    countRow('maxCountPerSender', 'SMART_ACCOUNT', 'count-per-sender'),
    {
      field: 'rules.senderAllowlist',
      becomes: 'SENDERS with `action: Allow`; an empty list there allows everybody, and is left out',
      take: (value) => theSenders('allowed', 'rules.senderAllowlist', 'Allow', value),
    },
    {
      field: 'rules.senderBlocklist',
      becomes: 'SENDERS with `action: Deny`',
      take: (value) => theSenders('denied', 'rules.senderBlocklist', 'Deny', value),
    },
    { field: 'rules.startTimeUnix', becomes: '`from` of a WINDOW', take: (_, policy) => windowOf(policy) },
    {
      field: 'rules.endTimeUnix',
      becomes: '`until` of a WINDOW',
      take: (_, policy) =>
        timeOf(policy, 'startTimeUnix') === undefined ? windowOf(policy) : { policies: [] },
    },
    {
      field: 'rules.sponsorshipExpiryMs',
      becomes: '`maxExpirySeconds` of the Paymaster',
      take: (value) => ({
        note: `set spec.maxExpirySeconds of the Paymaster to ${Math.ceil(Number(countOf('rules.sponsorshipExpiryMs', value)) / 1000)}`,
      }),
    },
    {
      field: 'rules.webhookRules',
      becomes: 'nothing: its requests and answers are others',
      take: () => noWebhook,
    },
  ],
};

function windowOf(policy: Tree) {
  const times = given({ from: timeOf(policy, 'startTimeUnix'), until: timeOf(policy, 'endTimeUnix') });
  return { policies: [theWindow('window', times)] };
}

function timeOf(policy: Tree, member: string): string | undefined {
  const value = getAt(policy, ['rules', member]);
  if (value === undefined || value === null || value === '') return undefined;
  const seconds = typeof value === 'string' || typeof value === 'number' ? Number(value) : Number.NaN;
  if (!Number.isSafeInteger(seconds) || seconds < 0 || seconds > 99_999_999_999)
    throw wrong(`rules.${member}`, 'seconds since 1970', value);
  return new Date(seconds * 1000).toISOString();
}
