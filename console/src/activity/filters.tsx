import { useLive } from '../api.js';
import { count, fieldTime, words } from '../format.js';
import { Filter, TypedFilter } from '../parts/filter.js';
import { type Choice, Select } from '../parts/parts.js';
import { listChoices, usePaymasters } from '../paymasters.js';
import { rangeChoices, findRange, readUsage } from '../range.js';
import { pageHref, step } from '../route.js';

const verdicts = [
  ['', 'All verdicts'],
  ['sponsored', 'Sponsored'],
  ['refused', 'Refused'],
  ['committed', 'Committed (first of two phases)'],
] as const;

/** What the list can be narrowed by: all of it is in the address, so that a link shows the same. */
export function Filters({ filters }: { readonly filters: Filters }) {
  const paymasters = usePaymasters();
  const { range = '24h', verdict = '', paymasterId = '', reason = '', selector = '' } = filters;
  const { search = '', minCost = '', key = '', from, to } = filters;
  const isNarrowed = narrowing.some((name) => filters[name]);
  return (
    <form class="row filters" onSubmit={(event) => event.preventDefault()}>
      <Select
        label="Range"
        value={range}
        choices={[...rangeChoices, ['own', 'From … to …']]}
        onChoose={(chosen) =>
          step(
            chosen === 'own'
              ? { range: chosen, ...toTimeRange(filters) }
              : { range: chosen, from: undefined, to: undefined },
          )
        }
      />
      {range === 'own' && (
        <>
          <Moment label="From" name="from" value={from} />
          <Moment label="To (left empty: now)" name="to" value={to} />
        </>
      )}
      <Select
        label="Verdict"
        value={verdict}
        choices={verdicts}
        onChoose={(chosen) => step({ verdict: chosen, reason: undefined })}
      />
      <Select
        label="Reason"
        value={reason}
        choices={withChosen(useReasons(filters), reason, words(reason))}
        onChoose={(chosen) => step({ reason: chosen, verdict: chosen === '' ? verdict : 'refused' })}
      />
      <Filter
        label="Method"
        of="selector"
        value={selector}
        choices={withChosen(useMethods(filters), selector, selector)}
      />
      <Filter label="Paymaster" of="paymasterId" value={paymasterId} choices={listChoices(paymasters)} />
      {key !== '' && (
        <Filter
          label="Key"
          of="key"
          value={key}
          choices={[
            ['', 'All keys'],
            [key, key],
          ]}
        />
      )}
      <TypedFilter
        label="Costs at least, in coins"
        type="search"
        inputMode="decimal"
        placeholder="0.001"
        value={minCost}
        onChoose={(chosen) => step({ minCost: chosen })}
      />
      <TypedFilter
        label="Account, operation hash or request id"
        type="search"
        value={search}
        onChoose={(chosen) => step({ search: chosen })}
      />
      {isNarrowed && <a href={pageHref('activity', { range, from, to })}>Clear filters</a>}
    </form>
  );
}

function Moment({
  label,
  name,
  value,
}: {
  readonly label: string;
  readonly name: 'from' | 'to';
  readonly value: string | undefined;
}) {
  return (
    <TypedFilter
      label={label}
      type="datetime-local"
      value={fieldTime(value)}
      onChoose={(chosen) => {
        const at = Date.parse(chosen);
        step({ [name]: Number.isNaN(at) ? undefined : new Date(at).toISOString() });
      }}
    />
  );
}

/** What happened in the time of the filters, by one property; whole months, since only the names are wanted. */
function useGroups(groupBy: 'reason' | 'method', filters: Filters) {
  const { range = '24h', from, to, paymasterId } = filters;
  const key = JSON.stringify([groupBy, range, from, to, paymasterId]);
  const ask = () =>
    readUsage({ ...toTimeRange(filters), groupBy, step: 'month', ...(paymasterId && { paymasterId }) });
  const { data } = useLive(key, ask, 30_000);
  return (data?.items ?? []).flatMap(({ group, ...row }) =>
    group === null || group === '(none)' || group === 'other' ? [] : [{ ...row, group }],
  );
}

function useReasons(filters: Filters): readonly Choice[] {
  const counts = new Map<string, number>();
  for (const { group, refused } of useGroups('reason', filters))
    counts.set(group, (counts.get(group) ?? 0) + refused);
  const named = [...counts].toSorted(([, a], [, b]) => b - a);
  return [['', 'All reasons'], ...named.map(([of, n]): Choice => [of, `${words(of)} (${count(n)})`])];
}

function useMethods(filters: Filters): readonly Choice[] {
  const names = new Map<string, string>();
  for (const { group, method } of useGroups('method', filters)) {
    const at = group.lastIndexOf(':');
    const selector = group.slice(at + 1);
    // A method of several contracts is one choice, as it is one selector.
    const name = `${group.slice(0, at)}.${method ?? selector}`;
    names.set(selector, names.has(selector) ? `${names.get(selector)}, ${name}` : name);
  }
  return [['', 'All methods'], ...names];
}

/** With the one that a link has chosen, also when nothing of it happened in this time. */
function withChosen(choices: readonly Choice[], value: string, label: string): readonly Choice[] {
  return choices.some(([of]) => of === value) ? choices : [...choices, [value, label]];
}

/** The filters as the address has them. */
export type Filters = Readonly<Record<string, string>>;

/** Those that the API knows by the same name. */
const asIs = ['verdict', 'reason', 'paymasterId', 'selector', 'key', 'minCost'] as const;

/** Filters that narrow the list, besides its time. */
const narrowing = [...asIs, 'search'] as const;

/** What the API is asked about decisions, without the time. Members that it does not know are left out. */
export function askedBy(filters: Filters): Filters {
  const { search = '' } = filters;
  const given = asIs.flatMap((name) => (filters[name] ? [[name, filters[name]] as const] : []));
  return { ...Object.fromEntries(given), ...parseSearch(search) };
}

/** The time of the filters: one that ends now, or an own one. */
export function toTimeRange({ range, from, to }: Filters): { readonly from: string; readonly to?: string } {
  if (range !== 'own') return { from: findRange(range).from };
  return { from: from ?? findRange().from, ...(to && { to }) };
}

function parseSearch(text: string): Filters {
  if (text === '') return {};
  if (/^0x[0-9a-f]{40}$/i.test(text)) return { sender: text };
  return /^0x[0-9a-f]{64}$/i.test(text) ? { userOpHash: text } : { requestId: text };
}
