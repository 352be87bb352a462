import { DomainError } from '../../../core/errors.js';
import type { EpochMs } from '../../../core/units/time.js';
import { format } from './schema.js';
import { readText, type Row } from './turn-rows.js';
import { toWriterRow, type WriterRow } from './writers.js';

/** Which server and which history it is: a promoted standby has another timeline. */
type Identity = { readonly system: string; readonly timeline: string };

/** The facts that the server tells about itself, and the writers of its data. */
export type Server = {
  /** The server that wrote the data. */
  readonly stored: Identity;
  readonly now: Identity;
  /** Whether a commit waits for a standby. */
  readonly waitsForStandby: boolean;
  readonly clock: EpochMs;
  /** The sum of the counts of writers whose rows were removed. */
  readonly retiredSequence: number;
  readonly writers: readonly WriterRow[];
};

/** From the rows of `readServer`. Throws UNAVAILABLE (NEWER_VERSION) for data in a form that this release does not know. */
export function toServer(rows: readonly Row[]): Server {
  const [row = {}] = rows;
  if (row['format'] !== format)
    throw new DomainError(
      'UNAVAILABLE',
      `the usage tables in PostgreSQL have format ${Number(row['format'])}, and this release knows ${format}: use a release that knows them`,
      { reason: 'NEWER_VERSION' },
    );
  return {
    stored: { system: readText(row, 'system_identifier'), timeline: readText(row, 'timeline') },
    now: { system: readText(row, 'system_now'), timeline: readText(row, 'timeline_now') },
    waitsForStandby: row['waits_for_standby'] === true,
    clock: Number(row['now']) as EpochMs,
    retiredSequence: Number(row['retired_sequence']),
    writers: rows.filter(({ id }) => id !== null).map(toWriterRow),
  };
}

/** Rises with every turn that changes anything, of whichever writer. */
export function countTurns({
  writers,
  retiredSequence,
}: Pick<Server, 'writers' | 'retiredSequence'>): number {
  return writers.reduce((sum, { sequence }) => sum + sequence, retiredSequence);
}

export function hasMoved({ stored, now }: Server): boolean {
  return stored.system !== now.system || stored.timeline !== now.timeline;
}

/**
 * Whether a standby must have every commit that was acknowledged: the newest turn that is there waited for it, and so did the last turn
 * of each writer that still writes. Otherwise nobody knows what came after.
 */
export function waitedForStandby({ writers }: Server): boolean {
  const newest = writers.toSorted((a, b) => b.turn - a.turn)[0];
  return newest?.isSynchronous === true && writers.every((row) => row.isRetired || row.isSynchronous);
}

/** From the row of `readSafety`: what is wrong with the server, as a sentence; undefined when it may be relied on. */
export function checkSafety([row = {}]: readonly Row[]): string | undefined {
  if (row['is_standby'] !== false) return 'the server is a standby: name the primary';
  if (!(Number(row['version']) >= minVersion)) return 'PostgreSQL 15 or newer is needed';
  const risky = Object.entries(safe).find(([name, values]) => !values.includes(String(row[name])));
  if (risky === undefined) return undefined;
  const [name, [best]] = risky;
  return `PostgreSQL may lose what it has acknowledged, because ${name} is ${String(row[name])}: set ${name} = ${best} and reload`;
}

/** Throws UNAVAILABLE. */
export function assertSafe(problem: string | undefined): void {
  if (problem !== undefined) throw new DomainError('UNAVAILABLE', problem, { reason: 'USAGE_STORE_UNSAFE' });
}

const minVersion = 150_000;

const safe: Readonly<Record<string, readonly string[]>> = {
  synchronous_commit: ['on', 'remote_apply'],
  fsync: ['on'],
  full_page_writes: ['on'],
};
