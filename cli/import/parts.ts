import type { LimitTerms, SpendingLimitSpec } from '../../core/policy/spending-limit/spec.js';
import { formatDecimal, parseDecimal } from '../../core/units/wei.js';
import { wrong, type PolicyPart, type Taken } from './document.js';

// What fields of several providers become.

/** How often a count begins anew; `never` is an endless one. */
export const cycles = {
  never: { never: {} },
  daily: { calendar: { every: 'day', timeZone: 'UTC' } },
  weekly: { calendar: { every: 'week', timeZone: 'UTC' } },
  monthly: { calendar: { every: 'month', timeZone: 'UTC' } },
} as const satisfies Readonly<Record<string, Pick<SpendingLimitSpec, 'never' | 'calendar'>>>;
export type CycleName = keyof typeof cycles;

export function aLimit(end: string, limit: LimitTerms, cycle: CycleName = 'never'): Taken {
  const spendingLimit = { ...limit, ...cycles[cycle] };
  return { policies: [{ end, spec: { policyType: 'PAYMASTER_SA_LIMIT', spendingLimit } }] };
}

/** The most that one operation may cost, in dollars. */
export function aLimitPerOperation(perOperation: string): Taken {
  const spendingLimit = { scope: 'PAYMASTER', thresholdType: 'USD', perOperation } as const;
  return { policies: [{ end: 'per-operation', spec: { policyType: 'PAYMASTER_SA_LIMIT', spendingLimit } }] };
}

export function theWindow(
  end: string,
  times: { readonly from?: string; readonly until?: string },
): PolicyPart {
  return { end, spec: { policyType: 'WINDOW', window: times } };
}

export function theSenders(end: string, field: string, action: 'Allow' | 'Deny', value: unknown): Taken {
  if (!Array.isArray(value) || !value.every((each) => typeof each === 'string'))
    throw wrong(field, 'a list of addresses', value);
  return { policies: [{ end, spec: { policyType: 'SENDERS', senders: { action, addresses: value } } }] };
}

/** Dollars of a number, or a text of one, in units of which `perDollar` are a dollar (1, or 100 for cents). */
export function dollarsOf(field: string, value: unknown, perDollar: 1 | 100 = 1): string {
  try {
    return formatDecimal(parseDecimal(String(value), perDollar === 1 ? 6 : 4), 6);
  } catch {
    throw wrong(field, `an amount in ${perDollar === 1 ? 'dollars' : 'cents'}`, value);
  }
}

export function countOf(field: string, value: unknown): string {
  const text = String(value);
  if (!/^\d{1,15}$/.test(text)) throw wrong(field, 'a number of operations', value);
  return text;
}

export const campaignNote = (id: unknown): Taken => ({
  note: `the policies are the campaign ${String(id)}: they judge requests that name it as sponsorshipPolicyId, and while any policy of the Paymaster has a campaign, requests that name none are refused (withoutCampaign of the Paymaster)`,
});

export const noWebhook: Taken = {
  lost: 'a webhook is asked and answers in another way: write its host anew, and a policy of type WEBHOOK',
};
