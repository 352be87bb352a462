import { parentPort } from 'node:worker_threads';
import { isDomainError, errorMessage, type Problem } from '../../core/errors.js';
import type { PastRecord } from '../../core/ledger/past.js';
import type { WhatIf, WhatIfResult } from '../../core/what-if/what-if.js';
import { Proposal, type Begun, type CompileContext, type Proposed, type ProposedFor } from './proposal.js';

// The thread of one what-if, so that neither its proposed resources nor its records delay a signature.

export type Questions = {
  read: (namespace: string, text: string) => ProposedFor;
  present: (objects: readonly Proposed[]) => void;
  compile: (name: string, context: CompileContext) => Begun;
  /** Answers how many decisions it has taken. */
  take: (records: string) => number;
  result: () => WhatIfResult;
};
export type Question = { readonly ask: keyof Questions; readonly values: readonly unknown[] };
export type Answer =
  { readonly value: unknown } | { readonly error: string; readonly problems: readonly Problem[] | undefined };

const port = parentPort;
if (port === null) throw new Error('a what-if must be started as a thread');

const proposal = new Proposal();
let begun: WhatIf | undefined;
let decisions = 0;

const questions: Questions = {
  read: (namespace, text) => proposal.read(namespace, text),
  present: (objects) => proposal.present(objects),
  compile(name, context) {
    const { whatIf, ...answer } = proposal.compile(name, context);
    begun = whatIf;
    return answer;
  },
  take(records) {
    for (const record of JSON.parse(records) as readonly PastRecord[]) {
      requireWhatIf().take(record);
      if (record.verdict !== null) decisions += 1;
    }
    return decisions;
  },
  result: () => requireWhatIf().result(),
};

function requireWhatIf(): WhatIf {
  if (begun === undefined) throw new Error('the what-if has no rules yet');
  return begun;
}

port.on('message', ({ ask, values }: Question) => {
  let answer: Answer;
  try {
    answer = { value: (questions[ask] as (...given: readonly unknown[]) => unknown)(...values) };
  } catch (error) {
    const problems = isDomainError(error, 'INVALID_INPUT') ? error.details.problems : undefined;
    answer = { error: errorMessage(error), problems };
  }
  port.postMessage(answer);
});
