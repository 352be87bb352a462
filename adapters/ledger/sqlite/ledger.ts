import {
  defaultRetention,
  type InputsQuery,
  type Ledger,
  type Retention,
} from '../../../core/ledger/ledger.js';
import type { DecisionInputs } from '../../../core/ledger/record.js';
import type { DatabaseOptions } from '../../sqlite/database.js';
import type { InputsPlace } from './inputs-file.js';
import { unpackRows } from './packed-rows.js';
import type { SetAside } from './set-aside.js';
import { startWorker, type WorkerClient } from './worker-client.js';

export const usualMaxBytes = 10_000_000_000;
/** Far more than any question takes; a thread that takes longer is stuck. */
const defaultDeadlineMs = 60_000;

export type SqliteLedgerOptions = {
  /** Made if it does not exist; used by one process at a time. */
  readonly directory: string;
  readonly durability: DatabaseOptions['durability'];
  readonly retention?: Retention;
  /** Default 10 GB; see {@link LedgerFilesOptions}. */
  readonly maxBytes?: number;
  readonly deadlineMs?: number;
  /** Told of each damaged file that was renamed. */
  readonly onSetAside?: (what: SetAside) => void;
};

/**
 * The ledger in SQLite files: `ledger-YYYY-MM.sqlite` per month with decisions, settlements and their roll-ups,
 * `ledger-inputs-YYYY-MM-DD.sqlite` per day, `ledger-funds.sqlite`. What is too old, or does not fit `maxBytes`, goes with its file. A thread of its
 * own stores and answers. A damaged file is renamed, and what it holds is missing from answers. Throws UNAVAILABLE when the
 * files cannot be opened, or are of a newer release.
 */
export async function createSqliteLedger(options: SqliteLedgerOptions): Promise<Ledger> {
  const {
    directory,
    durability,
    retention = defaultRetention,
    maxBytes = usualMaxBytes,
    deadlineMs = defaultDeadlineMs,
    onSetAside,
  } = options;
  return ledgerOf(await startWorker({ directory, durability, retention, maxBytes }, deadlineMs, onSetAside));
}

export function ledgerOf(worker: WorkerClient): Ledger {
  return {
    append: (entries) => worker.call('append', entries),
    appendTexts: (entries) =>
      worker.call(
        'appendTexts',
        entries.map(({ text }) => text),
        entries.map(({ reservation }) => reservation),
      ),
    usage: async (query) => unpackRows(await worker.call('usage', query)),
    decisions: (query) => worker.call('decisions', query),
    decision: (organisation, id) => worker.call('decision', organisation, id),
    funds: (query) => worker.call('funds', query),
    inputs: (query) => pagesOf(worker, query),
    prune: (now) => worker.call('prune', now),
    size: () => worker.call('size'),
    ping: () => worker.call('ping'),
    stop: () => worker.stop(),
  };
}

async function* pagesOf(worker: WorkerClient, query: InputsQuery): AsyncGenerator<readonly DecisionInputs[]> {
  for (let after: InputsPlace | undefined; ;) {
    const page: readonly DecisionInputs[] = await worker.call('inputsPage', query, after);
    const last = page.at(-1);
    if (last === undefined) return;
    yield page;
    after = { chainId: last.chainId, sequence: last.sequence, id: last.id };
  }
}
