import { fieldOf, parseJson } from '../schema/json-value.js';
import type { EpochMs } from '../units/time.js';

/** Versions of a chain whose losses of the day exceed half of their budget, and the time until which that counts. */
export type TokenLossReport = {
  readonly stopped: readonly { readonly version: string; readonly until: EpochMs }[];
};

/**
 * Port: what the follower of a chain found about its losses. The operator shows it as the condition `TokenLoss` and
 * reads no usage store. No decision depends on it: the counters of the usage store decide what is signed.
 */
export type TokenLossReports = {
  /** The newest report of each chain; a chain without a report was never examined. Throws UNAVAILABLE. */
  all(): Promise<ReadonlyMap<number, TokenLossReport>>;
  /** Replaces the report of a chain. Writes nothing if the same report is already stored. Throws UNAVAILABLE. */
  put(chainId: number, report: TokenLossReport): Promise<void>;
};

/** For a follower and an operator in one process. The follower reports again after each start. */
export function createMemoryTokenLossReports(): TokenLossReports {
  const reports = new Map<number, TokenLossReport>();
  return {
    all: async () => new Map(reports),
    put: async (chainId, report) => void reports.set(chainId, report),
  };
}

/** The report as text in a fixed order, so that equal reports give equal text. */
export function formatTokenLossReport({ stopped }: TokenLossReport): string {
  const sorted = stopped.toSorted((a, b) => (a.version < b.version ? -1 : 1));
  return JSON.stringify({ stopped: sorted.map(({ version, until }) => ({ version, until })) });
}

/** Undefined for text that is not a report: another program may have written it. */
export function parseTokenLossReport(text: string): TokenLossReport | undefined {
  const stopped = fieldOf(parseJson(text), 'stopped');
  if (!Array.isArray(stopped)) return undefined;
  const entries: { version: string; until: EpochMs }[] = [];
  for (const entry of stopped) {
    const version = fieldOf(entry, 'version');
    const until = fieldOf(entry, 'until');
    if (typeof version !== 'string' || typeof until !== 'number' || !Number.isSafeInteger(until))
      return undefined;
    entries.push({ version, until: until as EpochMs });
  }
  return { stopped: entries };
}
