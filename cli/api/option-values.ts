import { readFileSync } from 'node:fs';
import { DomainError, invalidInput, errorMessage, quote } from '../../core/errors.js';
import { isObject, parseJson } from '../../core/schema/json-value.js';
import { unitNames, unitRow, type Unit } from '../../core/usage/units.js';
import type { Spec } from './short-form.js';

// What people type behind an option, as the spec has it. Each throws INVALID_INPUT, which names the option.

export const limitExample =
  '20/day, 5/6 hours, 0.05 ether/week or 100 dollars/month; without a time for ever';
export const perOperationExample = '0.50 dollars or 0.001 ether';

const counted: Readonly<Record<string, (value: number) => Spec>> = {
  hour: (value) => ({ cycleDuration: { value, unit: 'hour' } }),
  day: (value) => ({ cycleDuration: { value, unit: 'day' } }),
};
const calendar: Readonly<Record<string, Spec>> = {
  week: { calendar: { every: 'week', timeZone: 'UTC' } },
  month: { calendar: { every: 'month', timeZone: 'UTC' } },
};

/** `20/day`, `0.05 ether/week`, `5/6 hours`. */
export function readLimit(text: string, flag: string): Spec {
  const [amount = '', time, ...more] = text.split('/').map((part) => part.trim());
  const said = parseAmount(amount);
  const cycle = time === undefined ? { never: {} } : parseCycle(time);
  if (said === undefined || cycle === undefined || more.length > 0)
    throw invalidInput({
      field: flag,
      expected: `like ${limitExample} (units: ${nouns}; times: ${[...Object.keys(counted), ...Object.keys(calendar)].join(', ')}, and so many hours or days)`,
      value: quote(text),
    });
  return { threshold: said.amount, thresholdType: said.unit, ...cycle };
}

function parseCycle(time: string): Spec | undefined {
  const [, count = '1', unit = ''] = /^(?:([1-9][0-9]{0,3}) *)?([a-z]+?)s?$/.exec(time) ?? [];
  return counted[unit]?.(Number(count)) ?? (count === '1' ? calendar[unit] : undefined);
}

const nouns = unitNames.map((name) => unitRow(name).noun).join(', ');

/** `20`, `0.05 ether`, `100dollars`. */
function parseAmount(text: string): { readonly amount: string; readonly unit: Unit } | undefined {
  const at = text.split('').findIndex((char) => !'0123456789.'.includes(char));
  const [amount, noun] = at === -1 ? [text, ''] : [text.slice(0, at), text.slice(at).trim().toLowerCase()];
  const unit = unitNames.find((name) =>
    noun === '' ? unitRow(name).decimals === 0 : unitRow(name).noun.startsWith(noun),
  );
  return amount === '' || unit === undefined ? undefined : { amount, unit };
}

/** Beside a limit in its unit; alone it counts nothing, and its scope makes no difference. */
export function readPerOperation(text: string, flag: string, { spendingLimit }: Spec): Spec {
  const limit = isObject(spendingLimit) ? spendingLimit : {};
  const said = parseAmount(text);
  const isUnit = said !== undefined && unitRow(said.unit).decimals > 0;
  if (!isUnit)
    throw invalidInput({ field: flag, expected: `like ${perOperationExample}`, value: quote(text) });
  if ((limit['thresholdType'] ?? said.unit) !== said.unit)
    throw invalidInput({
      field: flag,
      expected: 'in the unit of the limit beside it, or given to a command of its own',
      value: quote(text),
    });
  return { scope: 'PAYMASTER', ...limit, perOperation: said.amount, thresholdType: said.unit };
}

/** Windows of a calendar, whose days are those of the place. */
export function readTimeZone(timeZone: string, flag: string, { spendingLimit }: Spec): Spec {
  const { calendar: ofCalendar, cycleDuration } = isObject(spendingLimit) ? spendingLimit : {};
  const { value, unit } = isObject(cycleDuration) ? cycleDuration : {};
  const every = isObject(ofCalendar)
    ? ofCalendar['every']
    : value === 1 && unit === 'day'
      ? 'day'
      : undefined;
  if (every === undefined)
    throw invalidInput({ field: flag, expected: 'given with a limit by day, week or month' });
  return { every, timeZone };
}

/** A day is its midnight in UTC. What is neither that nor a time, the schema refuses. */
export function readTime(text: string): string {
  return /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(text) ? `${text}T00:00:00Z` : text;
}

export function readSeconds(text: string, flag: string): number {
  if (!/^[0-9]{1,4}(?:\.[0-9]{1,3})?$/.test(text))
    throw invalidInput({ field: flag, expected: 'a number of seconds', value: quote(text) });
  return Number(text);
}

/** An address, or those in a file: one on each line, which may have a note behind `#`. */
export function readAccounts(text: string, flag: string): readonly string[] {
  if (text.startsWith('0x')) return [text];
  const found = readText(text, flag)
    .split('\n')
    .map((line) => (line.split('#')[0] ?? '').trim())
    .filter((line) => line !== '');
  // An empty list would let nobody pass, or everybody.
  if (found.length === 0)
    throw invalidInput({
      field: flag,
      expected: 'an address, or a file with one on each line',
      value: quote(text),
    });
  return found;
}

export function readAbi(file: string, flag: string): string {
  const parsed = parseJson(readText(file, flag));
  const abi = isObject(parsed) ? parsed['abi'] : parsed;
  if (!Array.isArray(abi))
    throw invalidInput({ field: flag, expected: 'a file with an ABI as JSON', value: quote(file) });
  return JSON.stringify(abi);
}

function readText(file: string, flag: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new DomainError('INVALID_INPUT', `${flag}: ${errorMessage(cause)}`, { cause });
  }
}
