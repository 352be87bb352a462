import type { DecisionInputs } from '../../core/ledger/record.js';
import type { PastPromise } from './history.js';
import type { ReplayResult } from './result.js';

/** What the main thread asks of a replay's thread. Each request is answered once, in their order. */
export type Request =
  | { readonly ask: 'past'; readonly promises: readonly PastPromise[] }
  | { readonly ask: 'take'; readonly records: readonly DecisionInputs[] }
  | { readonly ask: 'result' };

export type Answer =
  | { readonly ok: true; readonly replayed: number; readonly result?: ReplayResult }
  | { readonly ok: false; readonly error: string };
