import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { eachObject } from '../../adapters/resources/pages.js';
import { inTime, withinDeadline } from '../../adapters/within-deadline.js';
import { derivePaymasterId } from '../../core/config/ids.js';
import type { ConfigStore } from '../../core/config/config-store.js';
import { DomainError, invalidInput } from '../../core/errors.js';
import type { Ledger } from '../../core/ledger/ledger.js';
import type { PastGap, PastPage } from '../../core/ledger/past.js';
import type { RecordId } from '../../core/ledger/record.js';
import type { ResourceStore } from '../../core/resources/resource-store.js';
import type { EpochMs } from '../../core/units/time.js';
import type { WhatIfResult } from '../../core/what-if/what-if.js';
import type { Begun, CompileContext } from './proposal.js';
import type { Answer, Question, Questions } from './thread-main.js';

type WhatIfAsked = Omit<CompileContext, 'served' | 'previous'> & {
  readonly namespace: string;
  /** YAML. */
  readonly resources: string;
  readonly to: EpochMs;
  /** The caller has closed the connection. */
  readonly gone: AbortSignal;
};

export type WhatIfAnswer = WhatIfResult & Begun & { readonly gaps: readonly PastGap[] };

export type WhatIfDeps = {
  readonly ledger: Pick<Ledger, 'past' | 'gaps'>;
  readonly resources: Pick<ResourceStore, 'get' | 'page'>;
  readonly configs: Pick<ConfigStore, 'getLatest' | 'getPaymaster'>;
};

const maxDecisions = 1_000_000;
export const maxTextLength = 65_536;
const maxMs = 120_000;
/** Live promises and counters of senders grow with the period; what needs more fails, and nothing else does. */
const memoryMb = 512;
/** The thread that signs passes a page on, which takes it some milliseconds. */
const pageSize = 750;

/** Throws INVALID_INPUT for what cannot be judged, UNAVAILABLE after two minutes, and ends when `gone` aborts. */
export async function runWhatIf(deps: WhatIfDeps, asked: WhatIfAsked): Promise<WhatIfAnswer> {
  const thread = startThread();
  const tooSlow = () =>
    new DomainError('UNAVAILABLE', `The what-if took more than ${maxMs / 1000} s: choose a shorter period`);
  try {
    return await inTime(maxMs, withinDeadline(asked.gone, judge(deps, asked, thread)), tooSlow);
  } finally {
    await thread.stop();
  }
}

async function judge(deps: WhatIfDeps, asked: WhatIfAsked, { ask }: Thread): Promise<WhatIfAnswer> {
  const { ledger, resources, configs } = deps;
  const { namespace, tenant, resources: text, to, gone, ...context } = asked;
  const { paymaster } = await ask('read', namespace, text);
  const paymasterId = derivePaymasterId(tenant, paymaster);
  const existing = await resources.get('Paymaster', { namespace, name: paymaster });
  if (existing !== undefined) await ask('present', [existing]);
  for (const kind of ['SmartContract', 'PaymasterPolicy'] as const)
    for await (const object of eachObject(resources, kind, {
      namespace,
      fields: { 'spec.paymasterRef.name': paymaster },
    }))
      // One that is being deleted decides nothing, as in the operator.
      if (object.metadata.deletionTimestamp === undefined) await ask('present', [object]);
  const served = (await configs.getPaymaster(paymasterId))?.config;
  const previous = (await configs.getLatest(paymasterId))?.config;
  const begun = await ask('compile', paymaster, { ...context, tenant, served, previous });
  const of = { organisation: tenant, paymasterId, to };
  const pageAfter = (after?: RecordId) => ledger.past({ ...of, from: begun.since, after, limit: pageSize });
  let page: PastPage | undefined = await pageAfter();
  while (page !== undefined && !gone.aborted) {
    // The next page is read while this one is judged.
    const [decisions, next]: [number, PastPage | undefined] = await Promise.all([
      ask('take', page.text),
      page.last === undefined ? undefined : pageAfter(page.last),
    ]);
    if (decisions > maxDecisions)
      throw invalidInput({ field: 'from', expected: `a period of at most ${maxDecisions} decisions` });
    page = next;
  }
  const gaps = await ledger.gaps({ ...of, from: asked.from });
  return { ...(await ask('result')), ...begun, gaps };
}

type Thread = ReturnType<typeof startThread>;

function startThread() {
  const worker = new Worker(new URL('./thread-main.js', import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: memoryMb },
  });
  // The process may end meanwhile.
  worker.unref();
  const ended = new AbortController();
  const end = (cause?: unknown): void =>
    ended.abort(
      new DomainError('INTERNAL', 'the what-if needed too much memory: choose a shorter period', { cause }),
    );
  void once(worker, 'exit').then(() => end(), end);

  async function ask<Name extends keyof Questions>(
    name: Name,
    ...values: Parameters<Questions[Name]>
  ): Promise<ReturnType<Questions[Name]>> {
    const answered = once(worker, 'message') as Promise<[Answer]>;
    worker.postMessage({ ask: name, values } satisfies Question);
    const [answer] = await withinDeadline(ended.signal, answered);
    if ('value' in answer) return answer.value as ReturnType<Questions[Name]>;
    const { error, problems } = answer;
    if (problems !== undefined) throw new DomainError('INVALID_INPUT', error, { problems });
    throw new DomainError('INTERNAL', `the what-if failed: ${error}`);
  }

  return { ask, stop: async () => void (await worker.terminate()) };
}
