import type { LedgerSize } from '../../core/ledger/ledger.js';
import type { Decision } from '../../core/ledger/record.js';
import { startOf } from '../../core/ledger/steps.js';
import type { Clock } from '../../core/units/time.js';
import { estimateSize, type Offers } from './offers.js';

/** Of what is free, in an hour, for all processes together. */
const organisationShare = 1 / 5;

/**
 * Room for records that callers can cause without end: refusals. All others are always written.
 * - Beyond the ledger's capacity nothing has room. Between two measurements a process adds what it offers itself.
 * - In an hour an organisation gets at most a fifth of the room that was free in it: so it never takes all, and it floods only its own.
 *   Each of `processes` gives it an equal part of that, so that they need not ask each other.
 */
export type LedgerRoom = Pick<ReturnType<typeof createLedgerRoom>, 'within'>;

export function createLedgerRoom({
  clock,
  processes,
}: {
  readonly clock: Clock;
  readonly processes: number;
}) {
  let size: LedgerSize | undefined;
  /** Bytes that the measured size does not show: offered since, or still waiting in memory when it was measured. */
  let offered = 0;
  const sources: Pick<Offers, 'waitingBytes'>[] = [];
  let hour = startOf(clock.now(), 'hour');
  /** In this hour. */
  let minUsed = Infinity;
  const byOrganisation = new Map<string, number>();

  function beginHour(): void {
    const now = startOf(clock.now(), 'hour');
    if (now === hour) return;
    hour = now;
    byOrganisation.clear();
    minUsed = size === undefined ? Infinity : size.used + offered;
  }

  /** Before the first measurement there is room. */
  function hasRoom({ organisation }: Decision, bytes: number): boolean {
    if (size === undefined) return true;
    const share = ((size.capacity - minUsed) * organisationShare) / processes;
    return (
      size.used + offered + bytes <= size.capacity && (byOrganisation.get(organisation) ?? 0) + bytes <= share
    );
  }

  return {
    /** Takes a measurement that begins now. */
    async measured(reading: Promise<LedgerSize>): Promise<LedgerSize> {
      const waiting = sources.reduce((sum, source) => sum + source.waitingBytes(), 0);
      const written = Math.max(0, offered - waiting);
      size = await reading;
      offered -= written;
      beginHour();
      minUsed = Math.min(minUsed, size.used);
      return size;
    },
    /** The same offers, of refusals that there is room for. */
    within(offers: Pick<Offers, 'add' | 'waitingBytes'>) {
      sources.push(offers);
      return {
        add(record: Decision): boolean {
          beginHour();
          const bytes = estimateSize(record);
          if (!hasRoom(record, bytes) || !offers.add(record)) return false;
          const { organisation } = record;
          offered += bytes;
          byOrganisation.set(organisation, (byOrganisation.get(organisation) ?? 0) + bytes);
          return true;
        },
      };
    },
  };
}
