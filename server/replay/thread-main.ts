import { parentPort } from 'node:worker_threads';
import { isDomainError, messageOf, unreachable } from '../../core/errors.js';
import { silentLogger } from '../../core/log.js';
import { ProposalReader } from './proposal-reader.js';
import type { Replayer, ReplayConfig } from './replayer.js';
import type { Answer, Answers, Request } from './thread-messages.js';

// The thread of one replay, so that neither its proposed resources nor a decision of it delays a signature.

const port = parentPort;
if (port === null) throw new Error('a replay must be started as a thread');

const reader = new ProposalReader();
let replayer: Replayer | undefined;

port.on('message', (request: Request) => {
  void answer(request).then(
    (found) => port.postMessage({ ok: true, answer: found } satisfies Answer),
    (error: unknown) => port.postMessage(failure(error)),
  );
});

async function answer(request: Request): Promise<Answers[keyof Answers]> {
  switch (request.ask) {
    case 'read':
      return reader.read(request.namespace, request.resources);
    case 'present':
      reader.present(request.objects);
      return undefined;
    case 'validate':
      return reader.validate(request.now);
    case 'compile':
      return (await import('./proposed-config.js')).compileProposed(
        reader.resources,
        request.name,
        request.context,
      );
    case 'begin':
      replayer = await begin(request.config);
      return undefined;
    case 'past':
      for (const promise of request.promises) begun().addPast(promise);
      return undefined;
    case 'take':
      await begun().take(request.records);
      return begun().replayed;
    case 'result':
      return begun().result();
    default:
      return unreachable(request);
  }
}

/** Loaded when it is needed: a proposal that is refused is answered sooner. */
async function begin(config: ReplayConfig): Promise<Replayer> {
  const { loadCurve } = await import('../../adapters/signer/load-curve.js');
  const { recoverWith } = await import('../../adapters/signer/curve.js');
  const made = await import('./replayer.js');
  return new made.Replayer(config, recoverWith(await loadCurve(silentLogger)));
}

function begun(): Replayer {
  if (replayer === undefined) throw new Error('the replay has no configuration yet');
  return replayer;
}

function failure(error: unknown): Answer {
  const problems = isDomainError(error, 'INVALID_INPUT') ? error.details.problems : undefined;
  return { ok: false, error: messageOf(error), ...(problems === undefined ? {} : { problems }) };
}
