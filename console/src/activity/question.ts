import { rangeOf } from '../range.js';

/** The filters as the address has them. */
export type Filters = Readonly<Record<string, string>>;

/** Those that the API knows by the same name. */
const asIs = ['verdict', 'reason', 'paymasterId', 'selector', 'key', 'minCost'] as const;

/** Filters that narrow the list, besides its time. */
export const narrowing = [...asIs, 'search'] as const;

/** What the API is asked about decisions, without the time. Members that it does not know are left out. */
export function askedBy(filters: Filters): Filters {
  const { search = '' } = filters;
  const given = asIs.flatMap((name) => (filters[name] ? [[name, filters[name]] as const] : []));
  return { ...Object.fromEntries(given), ...searchOf(search) };
}

/** The time of the filters: one that ends now, or an own one. */
export function timeOf({ range, from, to }: Filters): { readonly from: string; readonly to?: string } {
  if (range !== 'own') return { from: rangeOf(range).from };
  return { from: from ?? rangeOf().from, ...(to && { to }) };
}

function searchOf(text: string): Filters {
  if (text === '') return {};
  if (/^0x[0-9a-f]{40}$/i.test(text)) return { sender: text };
  return /^0x[0-9a-f]{64}$/i.test(text) ? { userOpHash: text } : { requestId: text };
}
