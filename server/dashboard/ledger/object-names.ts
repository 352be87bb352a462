import { inTime } from '../../../adapters/within-deadline.js';
import { budgetNames } from '../../../core/config/budgets.js';
import { deriveObjectId } from '../../../core/config/ids.js';
import { unlessUnavailable } from '../../../core/errors.js';
import { addRow, noAmounts, shownAmounts, type MutableAmounts } from '../../../core/ledger/amounts.js';
import type { NamedKind } from '../../../core/ledger/object-names.js';
import type { UsageRow } from '../../../core/ledger/query.js';
import type { Principal } from '../auth.js';
import type { Tools } from '../deps.js';
import { noAnswerInTime } from '../last-seen.js';
import type { Questions } from './fair-ledger.js';

/** What an object is called now, or was called when it was deleted. Labels are those of an object that is there. */
type Named = { readonly name: string; readonly labels: Readonly<Record<string, string>> };
export type Names = (id: string) => Named | undefined;

const patienceMs = 3_000;

/** By id, of one kind of an organisation. While the API server is away, as they were last seen, or none. */
export async function objectNames(
  tools: Pick<Tools, 'resources' | 'lastSeen'>,
  { names: kept }: Pick<Questions, 'names'>,
  { organisation, namespace, tenant }: Pick<Principal, 'organisation' | 'namespace' | 'tenant'>,
  kind: NamedKind,
): Promise<Names> {
  const names = new Map<string, Named>();
  if (kind === 'PaymasterPolicy')
    for (const [id, name] of budgetNames(organisation)) names.set(id, { name, labels: {} });
  for (const { id, shown } of (await kept?.list(tenant, kind)) ?? [])
    names.set(id, { name: shown, labels: {} });
  // An answer is worth more than the names in it.
  const seen = tools.lastSeen.of(`names of ${kind} ${tenant}`, async () => ({
    present: (await tools.resources.list(kind, { namespace })).map(({ metadata, spec }) => ({
      id: deriveObjectId[kind](tenant, metadata.name),
      named: { name: spec.name, labels: metadata.labels ?? {} },
    })),
  }));
  const { present } = (await unlessUnavailable(inTime(patienceMs, seen, noAnswerInTime))) ?? { present: [] };
  for (const { id, named } of present) names.set(id, named);
  return (id) => names.get(id);
}

/** Rows by paymaster as rows by the value of a label. */
export function byLabel(rows: readonly UsageRow[], names: Names, label: string): readonly UsageRow[] {
  const sums = new Map<string, { readonly row: UsageRow; readonly amounts: MutableAmounts }>();
  for (const row of rows) {
    const group = findLabel(names(row.group ?? '')?.labels, label);
    const key = `${row.from} ${group}`;
    const sum = sums.get(key) ?? { row: { ...row, group }, amounts: noAmounts() };
    sums.set(key, sum);
    addRow(sum.amounts, row);
  }
  return [...sums.values()].map(({ row, amounts }) => ({ ...row, ...shownAmounts(amounts) }));
}

export function findLabel(labels: Named['labels'] = {}, label: string): string {
  return Object.hasOwn(labels, label) ? labels[label]! : '(none)';
}
