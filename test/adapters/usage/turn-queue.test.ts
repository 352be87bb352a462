import { expect, test } from '@jest/globals';
import { TurnQueue } from '../../../adapters/store/postgres/turn-queue.js';
import type { Call } from '../../../adapters/store/postgres/turn-reading.js';
import { aRequest } from '../../conformance/usage-requests.js';

const busy = { code: 'UNAVAILABLE', details: { reason: 'USAGE_STORE_BUSY', retryAfterSeconds: 1 } };

/** A queue whose turns answer when the database does; calls that fit join them before. */
function slowQueue(fits: (call: Call) => boolean = () => false) {
  const database = Promise.withResolvers<void>();
  const turns: number[] = [];
  const queue = new TurnQueue(async (_, calls, isAlone, join) => {
    await database.promise;
    // As after a turn that has failed and is tried again.
    const joined = isAlone ? [] : [...join(fits), ...join(fits)];
    turns.push(calls.length + joined.length);
    for (const { answer } of [...calls, ...joined]) answer.resolve('done' as never);
  });
  const ask = (paymasterId: string, { chain = 1, alone = false } = {}): Promise<unknown> =>
    new Promise<unknown>((resolve, reject) => {
      const { key } = aRequest({ key: { paymasterId } });
      const call: Call = {
        wanted: { reservations: [key], ...(alone ? { alone } : {}) },
        decide: () => undefined,
        promisesNothing: undefined,
        answer: { resolve, reject },
      };
      queue.add(chain, call);
    });
  return { queue, ask, turns, answer: () => database.resolve() };
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

test('calls of its chain that fit and may share a turn join it, until it is full', async () => {
  const ofLoud = ({ wanted }: Call) => wanted.reservations?.[0]?.paymasterId === 'loud';
  const { ask, answer, queue, turns } = slowQueue(ofLoud);
  const all = [ask('loud')];
  await new Promise(setImmediate);
  await new Promise(setImmediate);
  all.push(...Array.from({ length: 100 }, () => ask('loud')));
  all.push(ask('quiet'), ask('loud', { chain: 2 }), ask('loud', { alone: true }));
  answer();
  expect(await Promise.all(all)).toEqual(all.map(() => 'done'));
  await queue.drained();
  expect(turns).toEqual([64, 38, 1, 1]);
});
