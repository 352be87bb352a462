import type { Problem } from '../../core/errors.js';
import type { DecisionInputs } from '../../core/ledger/record.js';
import type { EpochMs } from '../../core/units/time.js';
import type { PastPromise } from './history.js';
import type { NamedPaymaster, Proposed, ProposedIdentity, ProposedTexts } from './proposal-reader.js';
import type { CompiledProposal, CompileContext } from './proposed-config.js';
import type { ReplayConfig } from './replayer.js';
import type { Findings } from './result.js';

/** What the main thread asks of a replay's thread. Each request is answered once, in their order. */
export type Request =
  | { readonly ask: 'read'; readonly namespace: string; readonly resources: ProposedTexts }
  | { readonly ask: 'present'; readonly objects: readonly Proposed[] }
  | { readonly ask: 'validate'; readonly now: EpochMs }
  | { readonly ask: 'compile'; readonly name: string; readonly context: CompileContext }
  | { readonly ask: 'begin'; readonly config: ReplayConfig }
  | { readonly ask: 'past'; readonly promises: readonly PastPromise[] }
  | { readonly ask: 'take'; readonly records: readonly DecisionInputs[] }
  | { readonly ask: 'result' };

/** By request. */
export type Answers = {
  readonly read: readonly ProposedIdentity[];
  readonly present: undefined;
  readonly validate: readonly NamedPaymaster[];
  readonly compile: CompiledProposal;
  readonly begin: undefined;
  readonly past: undefined;
  /** Operations that were decided so far. */
  readonly take: number;
  readonly result: Findings;
};

export type Answer =
  | { readonly ok: true; readonly answer: Answers[keyof Answers] }
  /** `problems`: of the proposed resources (INVALID_INPUT). */
  | { readonly ok: false; readonly error: string; readonly problems?: readonly Problem[] };
