import type { EpochMs } from '../units/time.js';

/** Why a policy currently keeps its paymaster from sponsoring, as a server has seen it. */
const servingTroubles = ['LimitFull', 'WebhookFailing'] as const;
export type ServingTrouble = (typeof servingTroubles)[number];

/** `until`: the trouble counts as over at this time, unless a server sees it again. */
export type ServingReport = { readonly trouble: ServingTrouble; readonly until: EpochMs };

/** By policyId. */
export type ServingEntries = ReadonlyMap<string, ServingReport>;

/**
 * Port: troubles that servers see while they handle requests. The operator shows them as the condition `Serving`,
 * without asking the usage store or any host. No decision depends on them.
 */
export type ServingReports = {
  /** Entries that are not over. Throws UNAVAILABLE. */
  all(): Promise<ServingEntries>;
  /**
   * Adds entries to those of other servers, each with the later end. Writes nothing if they are already stored.
   * Throws UNAVAILABLE.
   */
  merge(entries: ServingEntries): Promise<void>;
};

/** The store keeps at most this many entries: the first ones. */
export const mostEntries = 1_000;

/** The entries after adding `added`, without those that are over. */
export function mergeEntries(present: ServingEntries, added: ServingEntries, now: EpochMs): ServingEntries {
  const merged = new Map([...present].filter(([, { until }]) => until > now));
  for (const [policyId, entry] of added) {
    const known = merged.get(policyId);
    if (known === undefined && merged.size >= mostEntries) continue;
    if (known === undefined || known.until < entry.until) merged.set(policyId, entry);
  }
  return merged;
}

/** For servers and an operator in the same process. */
export function createMemoryServingReports(clock: { now(): EpochMs }): ServingReports {
  let entries: ServingEntries = new Map();
  return {
    all: async () => mergeEntries(entries, new Map(), clock.now()),
    merge: async (added) => {
      entries = mergeEntries(entries, added, clock.now());
    },
  };
}

/** As text, e.g. `LimitFull 1760000000000`. */
export function formatServingReport({ trouble, until }: ServingReport): string {
  return `${trouble} ${until}`;
}

/** Undefined for text that is not a report: another program may have written it. */
export function parseServingReport(text: string): ServingReport | undefined {
  const [name, time = ''] = text.split(' ');
  const trouble = servingTroubles.find((each) => each === name);
  if (trouble === undefined || !/^\d{1,15}$/.test(time)) return undefined;
  return { trouble, until: Number(time) as EpochMs };
}
