import type { AddressKey } from '../units/address.js';
import type { EpochMs } from '../units/time.js';

/** Why a policy currently keeps its paymaster from sponsoring, as a server has seen it. */
const servingTroubles = ['LimitFull', 'WebhookFailing'] as const;
export type ServingTrouble = (typeof servingTroubles)[number];
/** Why a chain's settled block does not move: rounds fail, or the node does not show that block, or not which block is final. */
export const followingTroubles = ['Failing', 'Waiting', 'NoFinality'] as const;
export type FollowingTrouble = (typeof followingTroubles)[number];
/** What is promised leaves too little for an ordinary operation: of an account, of an organisation's share of it, of a token budget. */
const fundsTroubles = ['Promised', 'ShareFull', 'TokenBudgetFull'] as const;
export type FundsTrouble = (typeof fundsTroubles)[number];
/** `WebhookAnswers`: a replica has an answer from a host that another one cannot reach. It outweighs `WebhookFailing`. */
const troubles = [
  ...servingTroubles,
  ...followingTroubles,
  ...fundsTroubles,
  'PriceJump',
  'WebhookAnswers',
] as const;
export type Trouble = (typeof troubles)[number];

/** `until`: the trouble counts as over at this time, unless a server sees it again. 0: it is over. */
export type ServingReport = { readonly trouble: Trouble; readonly until: EpochMs };

/** By policyId, or by one of the subjects below. */
export type ServingEntries = ReadonlyMap<string, ServingReport>;

const chainPrefix = 'chain.';

/** What a report about a chain is kept under; no policyId looks like it. */
export function chainSubject(chainId: number): string {
  return `${chainPrefix}${chainId}`;
}

const pricePrefix = 'price.';

/** What a report about the price of a fee token is kept under; the native coin has the zero address. */
export function priceSubject(chainId: number, address: string): string {
  return `${pricePrefix}${chainId}.${address.toLowerCase()}`;
}

/** The chain that a report is about, or that the price belongs to; undefined: it is about a policy or an account. */
export function chainOfSubject(subject: string): number | undefined {
  if (subject.startsWith(pricePrefix)) return Number(subject.split('.')[1]);
  return subject.startsWith(chainPrefix) ? Number(subject.slice(chainPrefix.length)) : undefined;
}

/** An account that pays: what a contract holds in its EntryPoint, or a wallet's balance inside a contract. */
type PayingAccount = { readonly contract: AddressKey; readonly fundingAddress?: AddressKey };

const fundsPrefix = 'funds.';

/** What a report about an account is kept under; with `of`: about that organisation's share, or about the budget for token losses. */
export function fundsSubject(
  chainId: number,
  { contract, fundingAddress }: PayingAccount,
  of?: { readonly organisation: string } | 'tokens',
): string {
  const part = of === undefined ? '' : of === 'tokens' ? '.tokens' : `.of.${of.organisation}`;
  return `${fundsPrefix}${chainId}.${contract}${fundingAddress === undefined ? '' : `.${fundingAddress}`}${part}`;
}

/** The chain whose paymasters a report about an account concerns; undefined: it is about something else. */
export function chainOfFunds(subject: string): number | undefined {
  return subject.startsWith(fundsPrefix) ? Number(subject.split('.')[1]) : undefined;
}

/** The store keeps at most this many entries about policies and accounts: the first ones. Those about chains and prices, which nobody else makes, always fit. */
export const maxEntries = 1_000;

function merge(present: ServingEntries, added: ServingEntries, now: EpochMs): ServingEntries {
  const merged = new Map([...present].filter(([, { until }]) => until > now));
  for (const [subject, entry] of added) {
    const known = merged.get(subject);
    if (known?.trouble === 'WebhookAnswers' && entry.trouble === 'WebhookFailing') continue;
    if (entry.until <= now) {
      if (known?.trouble === entry.trouble) merged.delete(subject);
      continue;
    }
    if (known === undefined && merged.size >= maxEntries && chainOfSubject(subject) === undefined) continue;
    merged.set(subject, entry);
  }
  return merged;
}

/** Troubles that servers see while they handle requests or follow chains; conditions `Serving`, `Funded` and `Following`. */
export const servingReports = {
  /** E.g. `LimitFull 1760000000000`. */
  format: ({ trouble, until }: ServingReport): string => `${trouble} ${until}`,
  parse(text: string): ServingReport | undefined {
    const [name, time = ''] = text.split(' ');
    const trouble = troubles.find((each) => each === name);
    if (trouble === undefined || !/^\d{1,15}$/.test(time)) return undefined;
    return { trouble, until: Number(time) as EpochMs };
  },
  merge,
};
