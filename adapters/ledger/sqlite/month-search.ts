import { lowestRecordId } from '../../../core/ledger/record-id.js';
import type { DecisionPage, DecisionQuery, DecisionView } from '../../../core/ledger/query.js';
import type { RecordId } from '../../../core/ledger/record.js';
import type { MonthFile } from './month-file.js';
import { viewOf } from './month-records.js';

/** Decisions that one call looks at; a page with fewer matches says where the next one begins. */
const mostExamined = 5000;

/** Ids of one file, or a part of it, the highest first. */
type Source = { readonly month: MonthFile; readonly organisation: number; readonly ids: Iterator<RecordId> };

/** A page of the decisions that match, the newest first. The files may overlap in time. */
export function searchMonths(months: readonly MonthFile[], query: DecisionQuery): DecisionPage {
  const found: DecisionView[] = [];
  const lowest = lowestRecordId(query.from);
  let examined = 0;
  let last: RecordId | undefined;
  for (const { source, id } of merged(months.flatMap((month) => sourcesIn(month, query)))) {
    if (id < lowest) break;
    if (id === last) continue;
    if (found.length === query.limit || examined === mostExamined) return { decisions: found, next: last };
    const view = viewOf(source.month, source.organisation, id);
    if (view !== undefined && matches(view, query)) found.push(view);
    examined += 1;
    last = id;
  }
  return { decisions: found, next: undefined };
}

function sourcesIn(month: MonthFile, query: DecisionQuery): Source[] {
  const organisation = month.organisation(query.organisation);
  if (organisation === undefined) return [];
  const end = lowestRecordId(query.to);
  const before = query.before !== undefined && query.before < end ? query.before : end;
  const ids = month.lookup.search(organisation, query, before) ?? [
    month.blocks.idsBefore(organisation, before),
  ];
  return ids.map((one) => ({ month, organisation, ids: one }));
}

/** All ids of the sources, the highest first. */
function* merged(sources: readonly Source[]): Generator<{ readonly source: Source; readonly id: RecordId }> {
  const heads = sources.flatMap((source) => {
    const { value, done } = source.ids.next();
    return done === true ? [] : [{ source, id: value }];
  });
  for (;;) {
    const [first] = heads;
    if (first === undefined) return;
    const highest = heads.reduce((best, head) => (head.id > best.id ? head : best), first);
    yield { source: highest.source, id: highest.id };
    const { value, done } = highest.source.ids.next();
    if (done === true) heads.splice(heads.indexOf(highest), 1);
    else highest.id = value;
  }
}

function matches({ decision, settlement }: DecisionView, query: DecisionQuery): boolean {
  const { paymasterId, sender, verdict, reason, userOpHash, requestId } = query;
  return (
    (paymasterId === undefined || decision.paymasterId === paymasterId) &&
    (sender === undefined || decision.sender === sender) &&
    (verdict === undefined || decision.verdict === verdict) &&
    (reason === undefined || decision.reason === reason) &&
    (userOpHash === undefined || [decision.userOpHash, settlement?.mined?.userOpHash].includes(userOpHash)) &&
    (requestId === undefined || [decision.requestId, decision.callerRequestId].includes(requestId))
  );
}
