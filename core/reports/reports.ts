import type { Logger } from '../log.js';
import type { Clock, EpochMs } from '../units/time.js';
import { servedReports } from './config-revisions.js';
import { servingReports } from './serving-reports.js';
import { readField, parseJson } from '../schema/json-value.js';

/** Versions of a chain whose losses of the day exceed half of their budget, and the time until which that counts. */
export type TokenLossReport = {
  readonly stopped: readonly { readonly version: string; readonly until: EpochMs }[];
};

/** A text in a fixed order, so that equal reports give equal text. */
export function formatTokenLossReport({ stopped }: TokenLossReport): string {
  const sorted = stopped.toSorted((a, b) => (a.version < b.version ? -1 : 1));
  return JSON.stringify({ stopped: sorted.map(({ version, until }) => ({ version, until })) });
}

function parseTokenLossReport(text: string): TokenLossReport | undefined {
  const stopped = readField(parseJson(text), 'stopped');
  if (!Array.isArray(stopped)) return undefined;
  const entries: { version: string; until: EpochMs }[] = [];
  for (const entry of stopped) {
    const version = readField(entry, 'version');
    const until = readField(entry, 'until');
    if (typeof version !== 'string' || typeof until !== 'number' || !Number.isSafeInteger(until))
      return undefined;
    entries.push({ version, until: until as EpochMs });
  }
  return { stopped: entries };
}

/** What the follower of a chain found about its losses, by chain id; condition `TokenLoss`. */
export const tokenLossReports = {
  format: formatTokenLossReport,
  parse: parseTokenLossReport,
  /** A chain without a report was never examined. */
  merge: (present: ReadonlyMap<string, TokenLossReport>, added: ReadonlyMap<string, TokenLossReport>) =>
    new Map([...present, ...added]),
};

/**
 * What servers report to the operator, by subject. The operator shows it in conditions and needs neither the usage store nor any host
 * for that. No decision depends on it.
 */
const subjects = {
  serving: subject(servingReports),
  served: subject(servedReports),
  losses: subject(tokenLossReports),
};

function subject<T>(row: Subject<T>): Subject<T> {
  return row;
}

/** How the reports of one subject are kept, each under a separate key. */
type Subject<T> = {
  format(report: T): string;
  /** Undefined for text that is not a report: another program may have written it. */
  parse(text: string): T | undefined;
  /** The reports after adding `added`, without those that are over. */
  merge(present: ReadonlyMap<string, T>, added: ReadonlyMap<string, T>, now: EpochMs): ReadonlyMap<string, T>;
};

type ReportSubject = keyof typeof subjects;
type Entries<S extends ReportSubject> = Parameters<(typeof subjects)[S]['merge']>[0];

/** Port: the one channel from servers to the operator. */
export type Reports = {
  /** The reports of a subject that are not over. Throws UNAVAILABLE. */
  all<S extends ReportSubject>(subject: S): Promise<Entries<S>>;
  /** Adds to what other servers report; writes nothing if it is already stored. Throws UNAVAILABLE. */
  merge<S extends ReportSubject>(subject: S, added: Entries<S>): Promise<void>;
};

/** The texts of all subjects in one place, by `<subject>.<key>`. */
type ReportTexts = {
  read(): Promise<Texts>;
  /** Writes what `change` makes of the present texts, again when somebody else has written meanwhile. */
  update(change: (texts: Texts) => Texts): Promise<void>;
};

type Texts = Readonly<Record<string, string>>;

export function createReports(
  texts: ReportTexts,
  { clock, log }: { readonly clock: Clock; readonly log: Logger },
): Reports {
  function parseEntries(name: ReportSubject, present: Texts): ReadonlyMap<string, unknown> {
    const entries = new Map<string, unknown>();
    for (const [key, text] of Object.entries(present)) {
      if (!key.startsWith(`${name}.`)) continue;
      const report = subjects[name].parse(text);
      if (report === undefined) log.warn('report is not valid', { key });
      else entries.set(key.slice(name.length + 1), report);
    }
    return entries;
  }

  // One cast for all subjects: `merge` and `format` of a row get what `parse` of the same row made.
  const findSubject = (name: ReportSubject) => subjects[name] as unknown as Subject<unknown>;
  return {
    all: async <S extends ReportSubject>(name: S) =>
      findSubject(name).merge(parseEntries(name, await texts.read()), new Map(), clock.now()) as Entries<S>,
    merge: (name, added) =>
      texts.update((present) => {
        const others = Object.entries(present).filter(([key]) => !key.startsWith(`${name}.`));
        const merged = findSubject(name).merge(parseEntries(name, present), added, clock.now());
        const written = [...merged].map(([key, report]) => [
          `${name}.${key}`,
          findSubject(name).format(report),
        ]);
        return Object.fromEntries([...others, ...written]) as Texts;
      }),
  };
}

/** For servers and an operator in the same process, which hears of each report at once. */
export function createMemoryReports(
  deps: Parameters<typeof createReports>[1],
): Reports & { onChange(handler: () => void): void } {
  let texts: Texts = {};
  const handlers = new Set<() => void>();
  const update: ReportTexts['update'] = async (change) => {
    texts = change(texts);
    for (const handler of handlers) handler();
  };
  return {
    ...createReports({ read: async () => texts, update }, deps),
    onChange: (handler) => void handlers.add(handler),
  };
}
