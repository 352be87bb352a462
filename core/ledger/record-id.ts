import { DomainError, quote } from '../errors.js';
import type { EpochMs } from '../units/time.js';
import type { RecordId } from './record.js';

const pattern = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export function isRecordId(text: string): boolean {
  return pattern.test(text);
}

/** The time in a UUID of version 7: its first 48 bits. Throws INVALID_INPUT for any other text. */
export function recordTime(id: RecordId): EpochMs {
  if (!isRecordId(id))
    throw new DomainError(
      'INVALID_INPUT',
      `record id must be a lowercase UUID of version 7, got ${quote(id)}`,
    );
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) as EpochMs;
}

/** Lowest id of a time: every record of that millisecond or later has a higher one, every earlier record a lower one. */
export function minRecordId(at: EpochMs): RecordId {
  const hex = Math.max(0, Math.min(at, 2 ** 48 - 1))
    .toString(16)
    .padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-0000-000000000000`;
}
