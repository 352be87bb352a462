import { fieldOf, parseJson } from '../schema/json-value.js';
import type { EpochMs } from '../units/time.js';

/** Versions of a chain whose losses of the day exceed half of their budget, and the time until which that counts. */
export type TokenLossReport = {
  readonly stopped: readonly { readonly version: string; readonly until: EpochMs }[];
};

/** A text in a fixed order, so that equal reports give equal text. */
export function formatTokenLossReport({ stopped }: TokenLossReport): string {
  const sorted = stopped.toSorted((a, b) => (a.version < b.version ? -1 : 1));
  return JSON.stringify({ stopped: sorted.map(({ version, until }) => ({ version, until })) });
}

function parse(text: string): TokenLossReport | undefined {
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

/** What the follower of a chain found about its losses, by chain id; condition `TokenLoss`. */
export const tokenLossReports = {
  format: formatTokenLossReport,
  parse,
  /** A chain without a report was never examined. */
  merge: (present: ReadonlyMap<string, TokenLossReport>, added: ReadonlyMap<string, TokenLossReport>) =>
    new Map([...present, ...added]),
};
