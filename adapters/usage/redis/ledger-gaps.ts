import { randomUUID } from 'node:crypto';
import type { Gap } from '../../../core/ledger/record.js';
import { formatRecord } from '../../../core/ledger/record-text.js';
import type { EpochMs } from '../../../core/units/time.js';

/**
 * Arguments of `recordGapsScript` for gaps as they were read: name and count in turn. A name is the JSON text of
 * organisation and paymasterId.
 */
export function gapRecords(chainId: number, counted: readonly string[]): readonly string[] {
  const args: string[] = [];
  for (let i = 0; i + 1 < counted.length; i += 2) {
    const [name, count] = [counted[i]!, counted[i + 1]!];
    const [organisation, paymasterId] = JSON.parse(name) as [string, string];
    const at = Date.now() as EpochMs;
    const gap: Gap = {
      kind: 'gap',
      id: recordId(at),
      at,
      organisation,
      paymasterId,
      chainId,
      cause: 'signed',
      reason: undefined,
      count: Number(count),
    };
    args.push(name, count, formatRecord(gap));
  }
  return args;
}

/** A UUID of version 7. */
function recordId(at: EpochMs): string {
  const time = at.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}
