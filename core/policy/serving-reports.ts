import type { EpochMs } from '../units/time.js';

/** Why a policy currently keeps its paymaster from sponsoring, as a server has seen it. */
const servingTroubles = ['LimitFull', 'WebhookFailing'] as const;
export type ServingTrouble = (typeof servingTroubles)[number];
/** Why a chain's settled block does not move: rounds fail, or the node does not show that block, or not which block is final. */
export const followingTroubles = ['Failing', 'Waiting', 'NoFinality'] as const;
export type FollowingTrouble = (typeof followingTroubles)[number];
const troubles = [...servingTroubles, ...followingTroubles, 'PriceJump'] as const;

/** `until`: the trouble counts as over at this time, unless a server sees it again. */
export type ServingReport = { readonly trouble: (typeof troubles)[number]; readonly until: EpochMs };

/** By policyId, or {@link chainSubject}, or {@link priceSubject}. */
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

/** The chain that a report is about, or that the price belongs to; undefined: it is about a policy. */
export function chainOfSubject(subject: string): number | undefined {
  if (subject.startsWith(pricePrefix)) return Number(subject.split('.')[1]);
  return subject.startsWith(chainPrefix) ? Number(subject.slice(chainPrefix.length)) : undefined;
}

/** The store keeps at most this many entries about policies: the first ones. Those about chains and prices, which nobody else makes, always fit. */
export const mostEntries = 1_000;

function merge(present: ServingEntries, added: ServingEntries, now: EpochMs): ServingEntries {
  const merged = new Map([...present].filter(([, { until }]) => until > now));
  for (const [policyId, entry] of added) {
    const known = merged.get(policyId);
    if (known === undefined && merged.size >= mostEntries && chainOfSubject(policyId) === undefined) continue;
    if (known === undefined || known.until < entry.until) merged.set(policyId, entry);
  }
  return merged;
}

/** Troubles that servers see while they handle requests or follow chains; conditions `Serving` and `Following`. */
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
