import { join } from 'node:path';
import { DomainError, isDomainError } from '../../../core/errors.js';
import {
  storedRecord,
  type InputsQuery,
  type EntryText,
  type LedgerEntry,
  type LedgerSize,
  type Retention,
  type StoredRecords,
} from '../../../core/ledger/ledger.js';
import type {
  DecisionPage,
  DecisionQuery,
  DecisionView,
  FundsHistory,
  FundsQuery,
  UsageQuery,
} from '../../../core/ledger/query.js';
import { isRecordId, recordTime } from '../../../core/ledger/record-id.js';
import { createLineReader } from '../../../core/ledger/record-lines.js';
import type { DecisionInputs, FundsSample, RecordId } from '../../../core/ledger/record.js';
import { accountValue } from '../../../core/ledger/shares.js';
import { endOf, rollupUnits, startOf, type Range } from '../../../core/ledger/steps.js';
import { formatInstant, type EpochMs } from '../../../core/units/time.js';
import { explained, isRefusedValue, type DatabaseOptions } from '../../sqlite/database.js';
import { createFileSet } from './file-set.js';
import { openFundsFile } from './funds-file.js';
import { comparePlaces, openInputsFile, type InputsPlace } from './inputs-file.js';
import { appendToMonth, type MonthEntry } from './month-append.js';
import { openMonthFile, type MonthFile } from './month-file.js';
import { viewOf } from './month-records.js';
import { searchMonths } from './month-search.js';
import { spentBy, usageOf } from './month-usage.js';
import { packRows, type PackedRows } from './packed-rows.js';
import { openOrSetAside, type SetAside } from './set-aside.js';

export type LedgerFilesOptions = {
  readonly directory: string;
  readonly durability: DatabaseOptions['durability'];
  readonly retention: Retention;
  /**
   * Beyond it the oldest inputs go, then the oldest months of decisions. The newest month stays: when it alone is as large,
   * nothing more is stored, as on a full disk.
   */
  readonly maxBytes: number;
};

/** The ledger as its worker runs it: synchronous, one process at a time. Failures of files are UNAVAILABLE. */
export type LedgerFiles = {
  append(entries: readonly LedgerEntry[]): void;
  /** Entries of a feed: texts and the reservations that they belong to, in two lists because these are cheap to send to a thread. */
  appendTexts(
    texts: readonly string[],
    reservations: readonly (RecordId | undefined)[],
  ): readonly StoredRecords[];
  usage(query: UsageQuery): PackedRows;
  decisions(query: DecisionQuery): DecisionPage;
  decision(organisation: string, id: RecordId): DecisionView | undefined;
  funds(query: FundsQuery): readonly FundsHistory[];
  inputsPage(query: InputsQuery, after: InputsPlace | undefined): readonly DecisionInputs[];
  prune(now: EpochMs): boolean;
  size(): LedgerSize;
  ping(): void;
  close(): void;
};

const monthName = { prefix: 'ledger-', pattern: /^\d{4}-\d{2}$/ };
const dayName = { prefix: 'ledger-inputs-', pattern: /^\d{4}-\d{2}-\d{2}$/ };
const inputsPerPage = 200;
const inputsRemovedAtOnce = 100;
const endOfNames = Date.UTC(10_000, 0);

/**
 * Opens all files of a directory, and makes it if it does not exist. A damaged file is set aside, and one that a newer
 * release has written is refused: here, and not in the middle of an answer.
 */
export function openLedgerFiles(
  { directory, durability, retention, maxBytes }: LedgerFilesOptions,
  onSetAside: (what: SetAside) => void,
): LedgerFiles {
  function opening<File>(open: (path: string) => File): (path: string) => File {
    return (path) => openOrSetAside(path, open, onSetAside);
  }

  // The first: it is claimed, so that no other process has the files that are set aside.
  const openFunds = opening((path) => openFundsFile(path, { durability, exclusive: true }));
  const funds = openFunds(join(directory, 'ledger-funds.sqlite'));
  const openMonth = opening((path) => openMonthFile(path, { durability }));
  const months = createFileSet(directory, monthName, openMonth);
  const reader = createLineReader();
  const openDay = opening((path) => openInputsFile(path, { durability }));
  const days = createFileSet(directory, dayName, openDay);

  function close(): void {
    months.close();
    days.close();
    funds.close();
  }

  /** The newest first. */
  function monthsIn({ from, to }: Range): MonthFile[] {
    return months.all().filter((month) => {
      const held = month.bounds();
      return held !== undefined && held.last >= from && held.first < to;
    });
  }

  function reading<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw explained(directory, error);
    }
  }

  reading(() => {
    try {
      months.openAll();
      days.openAll();
    } catch (error) {
      close();
      throw error;
    }
  });

  function usedBytes(): number {
    const files = [...months.all(), ...days.all(), funds];
    return files.reduce((sum, file) => sum + file.bytes(), 0);
  }

  /** Throws UNAVAILABLE when only the newest month is left. */
  function makeRoom(): void {
    while (usedBytes() > maxBytes) {
      const [newest, ...others] = days.names();
      const [month, ...earlier] = months.names();
      if (others.length > 0) days.remove((name) => name === others.at(-1));
      else if (newest !== undefined && days.named(newest).removeOldest(inputsRemovedAtOnce)) continue;
      else if (month !== undefined && earlier.length > 0) months.remove((name) => name === earlier.at(-1));
      else
        throw new DomainError(
          'UNAVAILABLE',
          `${directory} holds more than ${maxBytes} bytes of the month ${month}: raise PAYMASTER_LEDGER_MAX_BYTES`,
        );
    }
  }

  function append(entries: readonly MonthEntry[]): void {
    reading(makeRoom);
    try {
      appendToFiles(entries);
    } catch (error) {
      if (!isDomainError(error) || !isRefusedValue(error.details.cause)) throw error;
      // UNAVAILABLE would be tried again for ever.
      throw new DomainError('INVALID_INPUT', `a record does not fit: ${error.message}`, { cause: error });
    }
  }

  function appendToFiles(entries: readonly MonthEntry[]): void {
    const ofMonths = new Map<string, MonthEntry[]>();
    const ofDays = new Map<string, DecisionInputs[]>();
    const samples: FundsSample[] = [];
    // Entries come in the order of time, nearly all of one day.
    let day = Number.NaN;
    let month = '';
    for (const entry of entries) {
      const { record, reservation } = entry;
      if (record.kind === 'funds') samples.push(record);
      else if (record.kind === 'inputs') push(ofDays, dayOf(fileTime(record.id)), record);
      else {
        // Nearly all decisions begin a reservation.
        const at = fileTime(reservation ?? record.id);
        if (startOf(at, 'day') !== day) [day, month] = [startOf(at, 'day'), monthOf(at)];
        push(ofMonths, month, entry);
      }
    }
    for (const [name, added] of ofMonths) appendToMonth(months.named(name), added);
    for (const [name, added] of ofDays) days.named(name).append(added);
    if (samples.length > 0) funds.append(samples);
  }

  return {
    append,
    appendTexts: (texts, reservations) => {
      const read = texts.map((text, i) => reader.read(entryText(text, reservations[i])));
      append(read.flat().filter((entry) => entry !== undefined));
      return read.map((records) => records.map((one) => one && storedRecord(one.record)));
    },
    usage: (query) => reading(() => packRows(usageOf(monthsIn(query), query))),
    decisions: (query) => reading(() => searchMonths(monthsIn(query), query)),
    decision: (organisation, id) =>
      reading(() => {
        if (!isRecordId(id)) return undefined;
        const at = recordTime(id);
        for (const month of monthsIn({ from: at, to: (at + 1) as EpochMs })) {
          const own = month.organisation(organisation);
          const view = own === undefined ? undefined : viewOf(month, own, id);
          if (view !== undefined) return view;
        }
        return undefined;
      }),
    funds: (query) =>
      reading(() =>
        query.accounts.map((account) => ({
          account,
          samples: query.samples === false ? [] : funds.samples(account, query),
          spentWei: spentBy(monthsIn(query), accountValue(account) ?? '', query),
        })),
      ),
    inputsPage: (query, after) =>
      days
        .between(dayOf(query.from), dayOf(query.to))
        .flatMap((file) => file.places(query, after, inputsPerPage).map((place) => ({ file, place })))
        .sort((a, b) => comparePlaces(a.place, b.place))
        .slice(0, inputsPerPage)
        .map(({ file, place }) => file.read(place.id)),
    prune: (now) => {
      const isLapsed = (end: EpochMs, after: number): boolean => end + after * rollupUnits.day <= now;
      months.remove((name) => isLapsed(endOf(timeOf(`${name}-01`), 'month'), retention.decisions));
      days.remove((name) => isLapsed(endOf(timeOf(name), 'day'), retention.inputs));
      return funds.prune(now, retention);
    },
    size: () => reading(() => ({ used: usedBytes(), capacity: maxBytes })),
    ping: () => funds.ping(),
    close,
  };
}

function entryText(text: string, reservation: RecordId | undefined): EntryText {
  return reservation === undefined ? { text } : { text, reservation };
}

/** Files of later years would have names of another form, and would not be found again. */
function fileTime(id: RecordId): EpochMs {
  const at = recordTime(id);
  if (at >= endOfNames)
    throw new DomainError('INVALID_INPUT', `time of record id must be before the year 10000, got ${id}`);
  return at;
}

function monthOf(at: EpochMs): string {
  return dayOf(at).slice(0, 'yyyy-mm'.length);
}

function dayOf(at: EpochMs): string {
  return formatInstant(at).slice(0, 'yyyy-mm-dd'.length);
}

function timeOf(day: string): EpochMs {
  return Date.parse(day) as EpochMs;
}

function push<Value>(lists: Map<string, Value[]>, name: string, value: Value): void {
  const list = lists.get(name);
  if (list === undefined) lists.set(name, [value]);
  else list.push(value);
}
