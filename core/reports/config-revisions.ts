import type { EpochMs } from '../units/time.js';

/** The newest write of compiled paymasters, and that of compiled chains. A later write has a greater number. */
export type ConfigRevisions = { readonly paymasters: number; readonly chains: number };

/** How far a replica has followed the compiled objects, which it serves. */
export type ServedReport = ConfigRevisions & { readonly until: EpochMs };

/** Reports of replicas that have ended are forgotten after this time. */
export const servedLeaseMs = 600_000;

/** Whether a replica that has followed up to `has` serves a config that was written at `wanted`. */
export function reaches(has: ConfigRevisions, wanted: ConfigRevisions): boolean {
  return has.paymasters >= wanted.paymasters && has.chains >= wanted.chains;
}

function merge(
  present: ReadonlyMap<string, ServedReport>,
  added: ReadonlyMap<string, ServedReport>,
  now: EpochMs,
): ReadonlyMap<string, ServedReport> {
  // A time that no replica writes would let a wrong report stand for ever.
  const isLive = ({ until }: ServedReport): boolean => until > now && until <= now + 2 * servedLeaseMs;
  const merged = new Map([...present].filter(([, report]) => isLive(report)));
  for (const [replica, report] of added) {
    // One replica that says it is enough: the others need not write the same.
    const isTold = [...merged.values()].some(
      (other) => reaches(other, report) && other.until > now + servedLeaseMs / 2,
    );
    if (!isTold) merged.set(replica, report);
  }
  return merged;
}

/** By replica; a Paymaster is Ready once one of them has come as far as its config. */
export const servedReports = {
  /** E.g. `4711 4690 1760000000000`. */
  format: ({ paymasters, chains, until }: ServedReport): string => `${paymasters} ${chains} ${until}`,
  parse(text: string): ServedReport | undefined {
    const [paymasters, chains, until, ...others] = text.split(' ').map(Number);
    if (!isCount(paymasters) || !isCount(chains) || !isCount(until) || others.length > 0) return undefined;
    return { paymasters, chains, until: until as EpochMs };
  },
  merge,
};

function isCount(value: number | undefined): value is number {
  return value !== undefined && Number.isSafeInteger(value) && value >= 0;
}
