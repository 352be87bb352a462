import type { EpochMs } from '../units/time.js';

/** Why a policy keeps its paymaster from sponsoring at the moment, as a server has met it. */
export const servingTroubles = ['LimitFull', 'WebhookFailing'] as const;
export type ServingTrouble = (typeof servingTroubles)[number];

/** `until`: it counts as over then, unless it is met again. */
export type ServingReport = { readonly trouble: ServingTrouble; readonly until: EpochMs };

/** By policyId. */
export type ServingEntries = ReadonlyMap<string, ServingReport>;

/**
 * Port: what servers meet when they are asked, for the operator, which shows it as the condition `Serving` and asks neither usage
 * store nor hosts. Nothing is decided by it.
 */
export type ServingReports = {
  /** Those that are not over. Throws UNAVAILABLE. */
  all(): Promise<ServingEntries>;
  /** Adds entries to those of other servers, each with the later end; writes nothing that stands there already. Throws UNAVAILABLE. */
  merge(entries: ServingEntries): Promise<void>;
};

/** So many are shown at once: of more the first ones. */
export const mostEntries = 1_000;

/** What stands after these entries were added, without what is over. */
export function mergeEntries(present: ServingEntries, added: ServingEntries, now: EpochMs): ServingEntries {
  const merged = new Map([...present].filter(([, { until }]) => until > now));
  for (const [policyId, entry] of added) {
    const known = merged.get(policyId);
    if (known === undefined && merged.size >= mostEntries) continue;
    if (known === undefined || known.until < entry.until) merged.set(policyId, entry);
  }
  return merged;
}

/** For servers and an operator in one process. */
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

/** Undefined for what is not a report: another program may have written it. */
export function parseServingReport(text: string): ServingReport | undefined {
  const [name, time = ''] = text.split(' ');
  const trouble = servingTroubles.find((each) => each === name);
  if (trouble === undefined || !/^\d{1,15}$/.test(time)) return undefined;
  return { trouble, until: Number(time) as EpochMs };
}
