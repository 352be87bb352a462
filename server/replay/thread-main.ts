import { parentPort, workerData } from 'node:worker_threads';
import { loadCurve } from '../../adapters/signer/load-curve.js';
import { recoverWith } from '../../adapters/signer/signers.js';
import { messageOf } from '../../core/errors.js';
import { silentLogger } from '../../core/log.js';
import { Replayer, type ReplayConfig } from './replayer.js';
import type { Answer, Request } from './thread-messages.js';

// The thread of one replay, so that no decision of it delays a signature.

const port = parentPort;
if (port === null) throw new Error('a replay must be started as a thread');

const replayer = loadCurve('auto', silentLogger).then(
  (curve) => new Replayer(workerData as ReplayConfig, recoverWith(curve)),
);

port.on('message', (request: Request) => {
  void answer(request).then(
    (reply) => port.postMessage(reply),
    (error: unknown) => port.postMessage({ ok: false, error: messageOf(error) } satisfies Answer),
  );
});

async function answer(request: Request): Promise<Answer> {
  const replay = await replayer;
  if (request.ask === 'past') for (const promise of request.promises) replay.addPast(promise);
  if (request.ask === 'take') await replay.take(request.records);
  const { replayed } = replay;
  return request.ask === 'result' ? { ok: true, replayed, result: replay.result() } : { ok: true, replayed };
}
