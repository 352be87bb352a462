import { withinDeadline } from '../../adapters/within-deadline.js';
import type { Ledger } from '../../core/ledger/ledger.js';
import type { Range } from '../../core/ledger/steps.js';
import { pastOf } from './history.js';
import type { ReplayConfig } from './replayer.js';
import type { ReplayResult } from './result.js';
import type { ReplayThread } from './thread.js';

type ReplayRun = {
  /** Has read what is proposed; it belongs to the caller. */
  readonly thread: ReplayThread;
  readonly ledger: Pick<Ledger, 'decisions' | 'inputs' | 'usage'>;
  readonly organisation: string;
  readonly config: ReplayConfig;
  /** Whole minutes. */
  readonly range: Range;
  /** Ends the replay at once: it rejects with the reason. */
  readonly signal: AbortSignal;
  readonly onProgress: (progress: { readonly done?: number; readonly total?: number }) => void;
};

/** A range has two months at most. */
const mostRows = 100_000;

/**
 * Reads what is recorded page by page, and has it decided again in a thread. A page is read when the one before is decided,
 * so memory does not grow with the range.
 */
export async function runReplay(run: ReplayRun): Promise<ReplayResult> {
  run.signal.throwIfAborted();
  return withinDeadline(run.signal, decide(run));
}

async function decide(run: ReplayRun): Promise<ReplayResult> {
  const { thread, ledger, organisation, config, range, onProgress } = run;
  await thread.begin(config);
  const total = await decisionsOf(run);
  onProgress({ total });
  let isPastComplete = true;
  for await (const past of pastOf(ledger, organisation, config.paymasters, range.from)) {
    isPastComplete &&= past.isComplete;
    await thread.past(past.promises);
  }
  const paymasterIds = config.paymasters.map(({ paymasterId }) => paymasterId);
  for await (const records of ledger.inputs({ organisation, paymasterIds, ...range }))
    onProgress({ done: await thread.take(records) });
  const { recorded, ...found } = await thread.result();
  // More inputs than decisions: some came while the replay ran.
  return { ...found, missingInputs: Math.max(0, total - recorded), isPastComplete };
}

/** One question: an organisation may have a thousand paymasters. More than are decided again where inputs are missing. */
async function decisionsOf({ ledger, organisation, config, range }: ReplayRun): Promise<number> {
  const paymasterIds = new Set(config.paymasters.map(({ paymasterId }) => paymasterId));
  const rows = await ledger.usage({
    organisation,
    paymasterId: undefined,
    ...range,
    step: 'month',
    groupBy: 'paymaster',
    senders: false,
    limit: mostRows,
  });
  return rows
    .filter(({ group = '' }) => paymasterIds.has(group))
    .reduce((sum, { sponsored, refused }) => sum + sponsored + refused, 0);
}
