import { randomBytes } from 'node:crypto';
import type { RecordId } from '../../core/ledger/record.js';
import type { Clock, EpochMs } from '../../core/units/time.js';

/** Makes the ids of records, each with the time in it. */
export type RecordIds = { next(): { readonly id: RecordId; readonly at: EpochMs } };

const perMs = 4_096;

/**
 * UUIDs of version 7: 48 bits of time in milliseconds, 12 bits that count within one, and 62 random bits of this
 * process. So ids of a process rise strictly, also when its clock is set back, and no two processes make the same one.
 */
export function createRecordIds(clock: Clock): RecordIds {
  const tail = formatTail(randomBytes(8));
  let ms = 0;
  let head = '';
  let count = perMs;
  return {
    next() {
      const now = clock.now();
      if (now > ms || count === perMs) {
        ms = Math.max(now, ms + 1);
        const time = ms.toString(16).padStart(12, '0');
        head = `${time.slice(0, 8)}-${time.slice(8)}-7`;
        count = 0;
      }
      const id = head + count.toString(16).padStart(3, '0') + tail;
      count += 1;
      return { id, at: ms as EpochMs };
    },
  };
}

/** `-yxxx-xxxxxxxxxxxx`: the variant `10` and 62 bits. */
function formatTail(bytes: Buffer): string {
  const hex = bytes.toString('hex');
  const variant = (8 + (parseInt(hex.slice(0, 1), 16) & 3)).toString(16);
  return `-${variant}${hex.slice(1, 4)}-${hex.slice(4)}`;
}
