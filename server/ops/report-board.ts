import type { Logger } from '../../core/log.js';
import type { Reports } from '../../core/reports/reports.js';
import {
  chainOfSubject,
  maxEntries,
  type ServingReport,
  type Trouble,
} from '../../core/reports/serving-reports.js';
import type { Clock, EpochMs } from '../../core/units/time.js';

/** A report lasts so long. It is written again when half of that is over, so a replica that dies leaves nothing for longer. */
export const leaseMs = 60_000;

type ReportBoardDeps = {
  readonly reports: Pick<Reports, 'merge'>;
  readonly clock: Clock;
  readonly log: Logger;
};

type Standing = { readonly trouble: Trouble; readonly end: number };

/**
 * What this replica has to tell the operator: the troubles that stand. They are written when they begin, again and again while they
 * stand, and once more when they are over, so the operator need not wait for a lease to end.
 */
export class ReportBoard {
  readonly #deps: ReportBoardDeps;
  readonly #standing = new Map<string, Standing>();
  readonly #told = new Map<string, ServingReport>();
  #hasFailed = false;

  constructor(deps: ReportBoardDeps) {
    this.#deps = deps;
  }

  /** `end` (epoch ms): it is over then, unless it is set again. Subjects of tenants beyond the room are left out. */
  set(subject: string, trouble: Trouble, end: number): void {
    const isFull = this.#standing.size >= maxEntries && chainOfSubject(subject) === undefined;
    if (isFull && !this.#standing.has(subject)) return;
    this.#standing.set(subject, { trouble, end });
  }

  clear(subject: string): void {
    this.#standing.delete(subject);
  }

  has(subject: string): boolean {
    return this.#standing.has(subject);
  }

  /** Writes what is new, over, or has to be renewed; never rejects. */
  async write(): Promise<void> {
    const entries = this.#due();
    if (entries.size === 0) return;
    try {
      await this.#deps.reports.merge('serving', entries);
      this.#hasFailed = false;
    } catch (error) {
      // Logged once; the next round tries again.
      if (!this.#hasFailed) this.#deps.log.warn('reporting to the operator failed', { error });
      this.#hasFailed = true;
      return;
    }
    for (const [subject, entry] of entries)
      if (entry.until === 0) this.#told.delete(subject);
      else this.#told.set(subject, entry);
  }

  #due(): ReadonlyMap<string, ServingReport> {
    const now = this.#deps.clock.now();
    const entries = new Map<string, ServingReport>();
    for (const [subject, { trouble, end }] of this.#standing) {
      if (end <= now) this.#standing.delete(subject);
      const until = Math.min(now + leaseMs, end) as EpochMs;
      const told = this.#told.get(subject);
      const lasts = told?.trouble === trouble && told.until - now > Math.min(leaseMs, until - now) / 2;
      if (end > now && !lasts) entries.set(subject, { trouble, until });
    }
    for (const [subject, { trouble, until }] of this.#told) {
      if (this.#standing.has(subject)) continue;
      if (until <= now) this.#told.delete(subject);
      else entries.set(subject, { trouble, until: 0 as EpochMs });
    }
    return entries;
  }
}
