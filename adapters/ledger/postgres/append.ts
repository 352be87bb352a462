import type { LedgerEntry } from '../../../core/ledger/ledger.js';
import type {
  Decision,
  DecisionInputs,
  FundsSample,
  Gap,
  LedgerRecord,
  RecordId,
  Reversal,
  Settlement,
} from '../../../core/ledger/record.js';
import { createTally, type Tally } from '../../../core/ledger/rollup.js';
import type { EpochMs } from '../../../core/units/time.js';
import type { Session } from '../../postgres/transactions.js';
import { insertNew } from './insert.js';
import {
  decisionColumns,
  decisionRow,
  fundsRow,
  gapColumns,
  gapRow,
  inputsColumns,
  inputsRow,
  settlementColumns,
  settlementRow,
} from './record-rows.js';
import { settleReservations } from './reservations.js';
import { storeRollups } from './rollup-rows.js';
import { storeSenders } from './sender-rows.js';

/** Adds entries and what follows from them, in the transaction of `session`. `requireParts`: see partitions.ts. */
export async function appendEntries(
  session: Session,
  entries: readonly LedgerEntry[],
  requireParts: (times: Iterable<EpochMs>) => void,
): Promise<void> {
  // One writer at a time, over all processes: a settlement and its decision may come by different ones, and each has to
  // see what the other has stored. Roll-ups would queue for the same rows anyway, and deadlock besides.
  await session.query('SELECT FROM ledger.writer FOR UPDATE');
  // Tables grow fast, and statistics from before would choose to read a whole part for some thousand keys.
  await session.query('SET LOCAL enable_seqscan = off');
  const tally = createTally();
  await storePromises(session, entries, tally);
  await storeGaps(session, recordsOf(entries, 'gap'), tally);
  await insertNew(session, 'inputs', inputsColumns, recordsOf(entries, 'inputs').map(inputsRow));
  await storeFunds(session, recordsOf(entries, 'funds'));
  const [rollups, senders] = [[...tally.rollups()], [...tally.senders()]];
  requireParts([...rollups.map(({ minute }) => minute), ...senders.map(({ day }) => day)]);
  await storeRollups(session, rollups);
  await storeSenders(session, senders);
}

type EntryOf<R extends LedgerRecord> = LedgerEntry & { readonly record: R };

async function storePromises(session: Session, entries: readonly LedgerEntry[], tally: Tally): Promise<void> {
  const decisions = entries.filter(isDecision);
  const endings = entries.filter(isEnding);
  const added = {
    decisions: await insertedIds(session, 'decisions', decisionColumns, decisions.map(decisionRow)),
    endings: await insertedIds(session, 'settlements', settlementColumns, endings.map(settlementRow)),
  };
  const reservations = new Set<RecordId>();
  for (const { record, reservation } of firstOfEachId(decisions)) {
    if (!added.decisions.has(record.id)) continue;
    tally.addDecision(record);
    if (reservation !== undefined) reservations.add(reservation);
  }
  for (const { record, reservation } of firstOfEachId(endings)) {
    if (!added.endings.has(record.id)) continue;
    if (reservation !== undefined) reservations.add(reservation);
    else if (record.kind === 'settlement') tally.addUnmatched(record, 1);
  }
  await settleReservations(session, { ...added, reservations }, tally);
}

async function storeGaps(session: Session, gaps: readonly Gap[], tally: Tally): Promise<void> {
  const stored = await insertedIds(session, 'gaps', gapColumns, gaps.map(gapRow));
  for (const gap of new Map(gaps.map((each) => [each.id, each])).values())
    if (stored.has(gap.id)) tally.addGap(gap);
}

async function storeFunds(session: Session, samples: readonly FundsSample[]): Promise<void> {
  const columns = {
    at: 'timestamptz',
    chain_id: 'bigint',
    contract: 'text',
    funding_address: 'text',
    balance_wei: 'numeric',
    promised_wei: 'numeric',
  } as const;
  for (const unit of ['minute', 'hour'] as const)
    await insertNew(
      session,
      `funds_${unit}`,
      { [unit]: 'timestamptz', ...columns },
      samples.map((sample) => fundsRow(sample, unit)),
    );
}

function isDecision(entry: LedgerEntry): entry is EntryOf<Decision> {
  return entry.record.kind === 'decision';
}

function isEnding(entry: LedgerEntry): entry is EntryOf<Settlement | Reversal> {
  return entry.record.kind === 'settlement' || entry.record.kind === 'reversal';
}

function recordsOf<K extends 'gap' | 'inputs' | 'funds'>(
  entries: readonly LedgerEntry[],
  kind: K,
): readonly Extract<Gap | DecisionInputs | FundsSample, { readonly kind: K }>[] {
  type Wanted = Extract<Gap | DecisionInputs | FundsSample, { readonly kind: K }>;
  return entries.map(({ record }) => record).filter((record): record is Wanted => record.kind === kind);
}

/** Of entries that came twice in one batch, the first is the one that was stored. */
function firstOfEachId<R extends LedgerRecord>(entries: readonly EntryOf<R>[]): Iterable<EntryOf<R>> {
  const byId = new Map<RecordId, EntryOf<R>>();
  for (const entry of entries) if (!byId.has(entry.record.id)) byId.set(entry.record.id, entry);
  return byId.values();
}

async function insertedIds(
  session: Session,
  table: string,
  columns: Readonly<Record<string, string>>,
  rows: readonly object[],
): Promise<ReadonlySet<RecordId>> {
  const added = await insertNew(session, table, columns, rows, 'id');
  return new Set(added.map(({ id }) => String(id)));
}
