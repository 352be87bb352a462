import { isObject } from '../../core/schema/json-value.js';
import { given } from '../../core/units/given.js';
import type { ApiEndpoint } from './endpoints.js';
import { table } from '../../standalone/console.js';
import { tables, type Beside, type Column } from './tables.js';

/** More do not fit on a line. */
const maxColumns = 8;
const nothing = '-';

type Options = { readonly isWide?: boolean; readonly beside?: Beside };

/** An answer for people: a table of its list, or a line for each member. */
export function renderAnswer(
  endpoint: ApiEndpoint,
  data: unknown,
  { isWide = false, beside = {} }: Options = {},
): string {
  if (!isObject(data)) return data === undefined ? 'done' : JSON.stringify(data);
  if (endpoint.method === 'delete' && 'dryRun' in data) {
    const { name, dryRun, ...rest } = data;
    return lines({ [dryRun === true ? 'would be deleted' : 'deleted']: name, ...rest }).join('\n');
  }
  if (endpoint.method !== 'get' && isObject(data['spec'])) return lines(whatWasWritten(data)).join('\n');
  if (!endpoint.isList || !Array.isArray(data['items'])) return lines(data).join('\n');
  const items = data['items'].filter(isObject);
  if (items.length === 0) return `no ${endpoint.path.split('/').at(-1)}`;
  const columns = tables[endpoint.operationId]?.columns ?? usualColumns(items);
  const rows = items.flatMap(listRows);
  const filled = columns
    .filter((column) => isWide || !column.isWide)
    .map(({ title, of }) => [title, ...rows.map((item) => renderCell(item, of, beside, isWide))])
    // Columns that are empty in every row are left out.
    .filter(([, ...cells]) => cells.some((cell) => cell !== nothing));
  return table(['', ...rows].map((_, at) => filled.map((cells) => cells[at] ?? '')));
}

/** Of a whole object, which `-o yaml` shows; its status is from before the write. */
function whatWasWritten({ name, id, uid, generation }: Readonly<Record<string, unknown>>) {
  return given({ name, id, uid, generation });
}

/**
 * A change is a row for each of its fields, and a statement one for each of its lines. An object that is new or gone is one row: all of
 * its fields changed.
 */
function listRows(item: Readonly<Record<string, unknown>>): readonly Readonly<Record<string, unknown>>[] {
  const { action, fields, lines: parts = action === 'changed' ? fields : undefined } = item;
  if (!Array.isArray(parts)) return [item];
  return parts.filter(isObject).map((part) => ({ ...item, ...part }));
}

function usualColumns(items: readonly Readonly<Record<string, unknown>>[]): readonly Column[] {
  const scalar = Object.entries(items[0] ?? {}).filter(([, value]) => typeof value !== 'object');
  return scalar
    .slice(0, maxColumns)
    .map(([name]) => ({ title: name.replaceAll(/(?=[A-Z])/g, ' ').toUpperCase(), of: name, isWide: false }));
}

function renderCell(
  item: Readonly<Record<string, unknown>>,
  of: Column['of'],
  beside: Beside,
  isWide: boolean,
): string {
  const value = typeof of === 'function' ? of(item, beside) : of.split('.').reduce<unknown>(readMember, item);
  const text = renderText(value);
  return isWide
    ? text
    : text.replace(/^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(\.\d+)?Z$/, '$1T$2Z').replace('T00:00:00Z', '');
}

function readMember(value: unknown, name: string): unknown {
  if (Array.isArray(value)) return value.flatMap((each) => readMember(each, name) ?? []);
  return isObject(value) ? value[name] : undefined;
}

function lines(data: Readonly<Record<string, unknown>>, indent = ''): readonly string[] {
  return Object.entries(data).flatMap(([name, value]) => {
    if (isObject(value) && Object.keys(value).length > 0)
      return [`${indent}${name}:`, ...lines(value, `${indent}  `)];
    if (Array.isArray(value) && value.every(isObject) && value.length > 0)
      return [`${indent}${name}:`, ...value.flatMap((each) => entry(each, indent))];
    return [`${indent}${name}: ${renderText(value)}`];
  });
}

function entry(item: Readonly<Record<string, unknown>>, indent: string): readonly string[] {
  const [first = '', ...rest] = lines(item);
  return [`${indent}  - ${first}`, ...rest.map((line) => `${indent}    ${line}`)];
}

function renderText(value: unknown): string {
  if (value === null || value === undefined || (isObject(value) && Object.keys(value).length === 0))
    return nothing;
  if (Array.isArray(value) && value.every((each) => typeof each === 'string'))
    return value.join(', ') || nothing;
  return typeof value === 'string' ? value : JSON.stringify(value);
}
