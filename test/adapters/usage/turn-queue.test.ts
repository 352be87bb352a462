import { expect, test } from '@jest/globals';
import { TurnQueue } from '../../../adapters/store/postgres/turn-queue.js';
import type { Call } from '../../../adapters/store/postgres/turn-reading.js';
import { aRequest } from '../../conformance/usage-requests.js';

const busy = { code: 'UNAVAILABLE', details: { reason: 'USAGE_STORE_BUSY', retryAfterSeconds: 1 } };

/** A queue whose turns answer when the database does. */
function slowQueue() {
  const database = Promise.withResolvers<void>();
  const queue = new TurnQueue(async (_, calls) => {
    await database.promise;
    for (const { resolve } of calls) resolve('done' as never);
  });
  const ask = (paymasterId: string): Promise<unknown> =>
    new Promise<unknown>((resolve, reject) => {
      const { key } = aRequest({ key: { paymasterId } });
      const call: Call = {
        wanted: { reservations: [key] },
        decide: () => undefined,
        promisesNothing: undefined,
        resolve: resolve as Call['resolve'],
        reject,
      };
      queue.add(1, call);
    });
  return { queue, ask, answer: () => database.resolve() };
}

test('a caller is refused while the database is slow, instead of waiting for it', async () => {
  const { ask, answer, queue } = slowQueue();
  const first = ask('pm-1');
  // The first one is in a turn by now.
  await new Promise(setImmediate);
  await new Promise(setImmediate);
  await expect(ask('pm-1')).rejects.toMatchObject(busy);
  answer();
  expect(await first).toBe('done');
  await queue.drained();
});

test('one paymaster cannot fill the queue for others, and has it all while nobody else asks', async () => {
  const { ask, answer, queue } = slowQueue();
  const crowd = Array.from({ length: 1_025 }, () => ask('loud').then(String, () => 'refused'));
  const others = Array.from({ length: 50 }, (_, nth) =>
    ask(`quiet-${nth % 10}`).then(String, () => 'refused'),
  );
  answer();
  await queue.drained();
  expect(new Set(await Promise.all(others))).toEqual(new Set(['done']));
  const answers = await Promise.all(crowd);
  expect(answers.filter((one) => one === 'done')).toHaveLength(1_024 - 50);
});
