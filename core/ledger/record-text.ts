import type { LedgerRecord } from './record.js';
import { unpackDecision } from './unpacked-decision.js';

/** Number of the form below. A reader takes all forms up to its own, and leaves newer ones in the feed. */
export const recordForm = 1;

/** JSON of one line; amounts are decimal texts, members without a value are left out. */
export function formatRecord(record: LedgerRecord): string {
  return JSON.stringify({ v: recordForm, ...record }, (_, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value,
  );
}

/** Reads what {@link formatRecord} or `packDecision` has written. Undefined for a form that is newer than this release. */
export function parseRecord(text: string): LedgerRecord | undefined {
  const parsed = JSON.parse(text) as (LedgerRecord & { readonly v: number }) | readonly unknown[];
  if (isList(parsed)) return unpackDecision(parsed);
  const { v, ...record } = parsed;
  // Also of anything else that is not a record.
  if (!(v <= recordForm)) return undefined;
  // A reviver would be called for every member, and take several times as long as all the rest.
  switch (record.kind) {
    case 'decision':
      toBig(record, 'nonce', 'maxCostWei');
      break;
    case 'settlement':
      if (record.mined === undefined) break;
      toBig(record.mined, 'actualGasCostWei', 'actualGasUsed');
      if (record.mined.token !== undefined) toBig(record.mined.token, 'amount');
      break;
    case 'funds':
      toBig(record, 'balanceWei', 'promisedWei');
      break;
    case 'reversal':
    case 'inputs':
    case 'gap':
      break;
  }
  return record;
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

/** Reads decimal texts of a new object, in place. */
function toBig<Name extends string>(record: { readonly [name in Name]: unknown }, ...names: Name[]): void {
  const values: { [name in Name]: unknown } = record;
  for (const name of names) {
    const value = values[name];
    if (typeof value === 'string') values[name] = BigInt(value);
  }
}

/** As {@link parseRecord}; undefined also for a text that is not a record. */
export function readRecord(text: string): LedgerRecord | undefined {
  try {
    return parseRecord(text);
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError) return undefined;
    throw error;
  }
}
