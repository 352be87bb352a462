import type { LedgerRecord } from './record.js';

/** Number of the form below. A reader takes all forms up to its own, and leaves newer ones in the feed. */
export const recordForm = 1;

/** JSON of one line; amounts are decimal texts, members without a value are left out. */
export function formatRecord(record: LedgerRecord): string {
  return JSON.stringify({ v: recordForm, ...record }, (_, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value,
  );
}

/** Members that are amounts or 256-bit numbers, wherever they are in a record. */
const bigMembers = new Set([
  'nonce',
  'maxCostWei',
  'actualGasCostWei',
  'actualGasUsed',
  'amount',
  'balanceWei',
  'promisedWei',
]);

/** Reads what {@link formatRecord} has written. Undefined for a form that is newer than this release. */
export function parseRecord(text: string): LedgerRecord | undefined {
  const { v, ...record } = JSON.parse(text, (name, value: unknown) =>
    bigMembers.has(name) && typeof value === 'string' ? BigInt(value) : value,
  ) as LedgerRecord & { readonly v: number };
  return v > recordForm ? undefined : (record as LedgerRecord);
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
