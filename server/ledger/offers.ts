import type { LedgerWriter } from '../../core/ledger/ledger.js';
import type { LedgerRecord } from '../../core/ledger/record.js';
import type { Logger } from '../../core/log.js';

/**
 * Records that nothing waits for (refusals, balances), on their way to the ledger. A request only puts its record
 * here; they are written together every 250 ms, or as soon as there are 500 or half a MiB. While the store does not take them they wait, at
 * most about 16 MiB of them.
 */
export type Offers = ReturnType<typeof createOffers>;

const everyMs = 250;
const batchSize = 500;
/** The thread that signs makes text of a batch. Other work has its turn before the next one. */
const batchBytes = 512 * 1_024;
const maxBytes = 16 * 1_048_576;
/** Of a record, about. */
const recordBytes = 1_000;

export function createOffers(deps: { readonly ledger: LedgerWriter; readonly log: Logger }) {
  const { ledger, log } = deps;
  let waiting: LedgerRecord[] = [];
  let bytes = 0;
  let writing: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let hasFailed = false;
  let isStopped = false;

  /**
   * Writes what waits now, until the store fails: then the next tick goes on. What comes meanwhile waits for more, or each turn would
   * write a few records alone. An id that is written again is stored once.
   */
  async function drain(): Promise<void> {
    for (let left = waiting.length; left > 0;) {
      const batch = nextBatch(waiting.slice(0, left));
      try {
        await ledger.add(batch);
      } catch (error) {
        if (!hasFailed) log.warn('records for the ledger were not written, they wait', { error });
        hasFailed = true;
        return;
      }
      hasFailed = false;
      waiting = waiting.slice(batch.length);
      left -= batch.length;
      for (const record of batch) bytes -= estimateSize(record);
    }
  }

  function write(): void {
    if (waiting.length > 0) writing ??= drain().finally(() => (writing = undefined));
  }

  return {
    /** False: the record has no room and is not kept. Never waits, never throws. */
    add(record: LedgerRecord): boolean {
      const size = estimateSize(record);
      if (isStopped || bytes + size > maxBytes) return false;
      waiting.push(record);
      bytes += size;
      const isFull = waiting.length === batchSize || (bytes >= batchBytes && bytes - size < batchBytes);
      if (isFull) write();
      return true;
    },
    /** Of what the store has not acknowledged. */
    waitingBytes: (): number => bytes,
    start(): void {
      timer ??= setInterval(write, everyMs).unref();
    },
    /** Writes what waits once more. May be called twice. */
    async stop(): Promise<void> {
      isStopped = true;
      clearInterval(timer);
      await writing;
      write();
      await writing;
    },
  };
}

/** At least one. */
function nextBatch(waiting: readonly LedgerRecord[]): readonly LedgerRecord[] {
  let bytes = 0;
  const end = waiting.findIndex(
    (record, index) => index === batchSize || (bytes += estimateSize(record)) > batchBytes,
  );
  return waiting.slice(0, end === -1 ? waiting.length : Math.max(1, end));
}

/** Bytes of it, about. */
export function estimateSize(record: LedgerRecord): number {
  return recordBytes + (record.kind === 'decision' ? (record.detail?.length ?? 0) : 0);
}
