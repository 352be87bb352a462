import { isObject } from '../../core/schema/json-value.js';
import type { Endpoint } from '../../server/dashboard/endpoint.js';
import { table } from '../../standalone/console.js';

/** More do not fit on a line. */
const mostColumns = 8;

const accountColumns = ['account', 'kind', 'chainId', 'balance', 'promised', 'burnPerHour', 'hoursLeft'];

/**
 * Columns of lists whose first members say too little; other members are in `-o json`. `spec.active` is a member of a member;
 * where that is a list, each item has its say.
 */
const columnsOf: Readonly<Record<string, readonly string[]>> = {
  getUsage: ['from', 'group', 'method', 'sponsored', 'refused', 'mined', 'reverted', 'spent'],
  listDecisions: ['at', 'id', 'verdict', 'reason', 'sender', 'method', 'maxCost'],
  getLimits: ['name', 'paymasterId', 'scope', 'unit', 'threshold', 'used', 'remaining', 'resetsAt'],
  listChanges: ['at', 'action', 'kind', 'name', 'actor', 'field', 'before', 'after'],
  getFunds: accountColumns,
  listPlatformAccounts: accountColumns,
  listStatements: ['account', 'chainId', 'line', 'paymaster', 'amount', 'usd', 'count', 'note'],
  listPlatformLosses: ['chainId', 'version', 'contract', 'lost', 'budget', 'until'],
  listRules: ['policyType', 'name', 'enforcement', 'campaign', 'says', 'verdict', 'remaining', 'turnsAt'],
  listObjectsPolicy: [
    'name',
    'spec.policyType',
    'spec.active',
    'spec.enforcement',
    'rules.says',
    'rules.verdict',
    'rules.remaining',
    'rules.turnsAt',
  ],
};

/** An answer for people: a table of its list, or a line for each member. */
export function renderAnswer(endpoint: Endpoint, data: unknown): string {
  if (!isObject(data)) return data === undefined ? 'done' : JSON.stringify(data);
  if (endpoint.method !== 'get' && isObject(data['spec'])) return lines(whatWasWritten(data)).join('\n');
  const [name, items] = listOf(endpoint, data) ?? [];
  if (name === undefined || items === undefined) return lines(data).join('\n');
  if (items.length === 0) return `no ${name}`;
  const columns = columnsOf[endpoint.operationId] ?? usualColumns(items);
  return table([
    columns.map((column) => column.slice(column.lastIndexOf('.') + 1).toUpperCase()),
    ...items.flatMap(rowsOf).map((item) => cellsOf(item, columns)),
  ]);
}

/** Of a whole object, which `-o yaml` shows; its status is from before the write. */
function whatWasWritten({ name, id, uid, generation }: Readonly<Record<string, unknown>>) {
  return { name, id, uid, generation };
}

/**
 * A change is a row for each of its fields, and a statement one for each of its lines. An object that is new or gone is one row: all of
 * its fields changed.
 */
function rowsOf(item: Readonly<Record<string, unknown>>): readonly Readonly<Record<string, unknown>>[] {
  const { action, fields, lines: parts = action === 'changed' ? fields : undefined } = item;
  if (!Array.isArray(parts)) return [item];
  return parts.filter(isObject).map((part) => ({ ...item, ...part }));
}

/** The first member that is a list of records, where one thing is not asked for. */
function listOf({ method, path, schema }: Endpoint, data: Readonly<Record<string, unknown>>) {
  if (method !== 'get' || /\/:\w+$/.test(path)) return undefined;
  const members = isObject(schema?.['properties']) ? Object.entries(schema['properties']) : [];
  for (const [name, member] of members) {
    const items = data[name];
    if (isObject(member) && member['type'] === 'array' && Array.isArray(items) && items.every(isObject))
      return [name, items] as const;
  }
  return undefined;
}

function usualColumns(items: readonly Readonly<Record<string, unknown>>[]): readonly string[] {
  const scalar = Object.entries(items[0] ?? {}).filter(([, value]) => typeof value !== 'object');
  return scalar.slice(0, mostColumns).map(([name]) => name);
}

function cellsOf(item: Readonly<Record<string, unknown>>, columns: readonly string[]): readonly string[] {
  return columns.map((column) => textOf(column.split('.').reduce<unknown>(memberOf, item)));
}

function memberOf(value: unknown, name: string): unknown {
  if (Array.isArray(value)) return value.flatMap((each) => memberOf(each, name) ?? []);
  return isObject(value) ? value[name] : undefined;
}

function lines(data: Readonly<Record<string, unknown>>, indent = ''): readonly string[] {
  return Object.entries(data).flatMap(([name, value]) => {
    if (isObject(value)) return [`${indent}${name}:`, ...lines(value, `${indent}  `)];
    if (Array.isArray(value) && value.every(isObject) && value.length > 0)
      return [`${indent}${name}:`, ...value.flatMap((each) => entry(each, indent))];
    return [`${indent}${name}: ${textOf(value)}`];
  });
}

function entry(item: Readonly<Record<string, unknown>>, indent: string): readonly string[] {
  const [first = '', ...rest] = lines(item);
  return [`${indent}  - ${first}`, ...rest.map((line) => `${indent}    ${line}`)];
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return '-';
  if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return value.join(', ') || '-';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
