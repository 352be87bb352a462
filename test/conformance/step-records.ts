import type { Decision, RecordId, Reversal, Settlement } from '../../core/ledger/record.js';
import { aDecision, aReversal, aSettlement, anUnusedEnd } from './ledger-records.js';
import { startMs } from './usage-requests.js';

// Records of the turns of usage stores, by small numbers: a higher one is a later one.

/** What a store has written of a record. */
export type WrittenRecord = {
  readonly reservation: RecordId | undefined;
  readonly id: RecordId;
  readonly kind: Decision['kind'] | Settlement['kind'] | Reversal['kind'];
};

export function stepRecordId(number: number | bigint): RecordId {
  const time = startMs.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${BigInt.asUintN(48, BigInt(number)).toString(16).padStart(12, '0')}`;
}

export function aStepDecision(number: number | bigint, change: Partial<Decision> = {}): Decision {
  return aDecision('acme', startMs, { id: stepRecordId(number), ...change });
}

export function aStepSettlement(number: number): Settlement {
  return { ...aSettlement(aStepDecision(number), startMs), id: stepRecordId(number) };
}

export function aStepExpiry(number: number): Settlement {
  return { ...anUnusedEnd(aStepDecision(number), startMs), id: stepRecordId(number) };
}

export function aStepReversal(number: number): Reversal {
  return { ...aReversal(aStepDecision(number), startMs), id: stepRecordId(number) };
}

/** What is to be read of a record that a store was given. */
export function written(
  { kind, id }: { readonly kind: string; readonly id: RecordId },
  reservation: RecordId | undefined,
): WrittenRecord {
  return { reservation, id, kind: kind as WrittenRecord['kind'] };
}
