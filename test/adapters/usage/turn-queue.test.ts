import { expect, test } from '@jest/globals';
import { TurnQueue } from '../../../adapters/store/postgres/turn-queue.js';
import type { Call } from '../../../adapters/store/postgres/turn-reading.js';
import { Pending } from '../../../core/pending.js';
import { aRequest } from '../../conformance/usage-requests.js';

const busy = { code: 'UNAVAILABLE', details: { reason: 'USAGE_STORE_BUSY', retryAfterSeconds: 1 } };

/** A queue whose turns answer when the database does; calls that fit join them before. */
function slowQueue(fits: (call: Call) => boolean = () => false, maxWaitMs = 1_500) {
  const database = Promise.withResolvers<void>();
  const turns: number[] = [];
  const queue = new TurnQueue(async (_, calls, isAlone, join) => {
    await database.promise;
    // As after a turn that has failed and is tried again.
    const joined = isAlone ? [] : [...join(fits), ...join(fits)];
    turns.push(calls.length + joined.length);
    return [...calls, ...joined].map((call) => ({ call, result: 'done', thrown: undefined }));
  }, maxWaitMs);
  const push = (paymasterId: string, { chain = 1, alone = false } = {}): Pending<unknown> => {
    const answer = new Pending<unknown>();
    const { key } = aRequest({ key: { paymasterId } });
    queue.add(chain, {
      wanted: { reservations: [key], ...(alone ? { alone } : {}) },
      decide: () => undefined,
      promisesNothing: undefined,
      answer,
    });
    return answer;
  };
  const ask = async (...call: Parameters<typeof push>): Promise<unknown> => push(...call);
  return { queue, push, ask, turns, answer: () => database.resolve() };
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

test('a caller is not refused because the process was too busy to read the answer that his turn waits for', async () => {
  const maxWaitMs = 100;
  const { ask, answer, queue } = slowQueue(undefined, maxWaitMs);
  const first = ask('pm-1');
  await new Promise(setImmediate);
  await new Promise(setImmediate);
  const second = ask('pm-1');
  // It is there, and is read once timers have run.
  setImmediate(answer);
  const begun = performance.now();
  while (performance.now() - begun < 2 * maxWaitMs);
  expect(await Promise.all([first, second])).toEqual(['done', 'done']);
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

test('a caller goes on when the next turn has begun, and what it asks then comes in the one after that', async () => {
  const { push, answer, queue, turns } = slowQueue();
  const seen: string[] = [];
  const noted = (name: string) => seen.push(`${name} after ${turns.length}`);
  push('a').then(() => push('c').then(() => noted('c')));
  await new Promise(setImmediate);
  await new Promise(setImmediate);
  push('b').then(() => noted('b'));
  push('b', { chain: 2 }).then(() => noted('b of chain 2'));
  answer();
  await queue.drained();
  expect(seen).toEqual(['b after 2', 'b of chain 2 after 3', 'c after 4']);
});

test('callers that are refused and ask again at once leave no wrong count behind', async () => {
  const { push, answer, queue } = slowQueue();
  const fill = (): readonly number[] => {
    let accepted = 0;
    const refused = { loud: 0, quiet: 0 };
    for (let nth = 0; nth < 1_024; nth++)
      push('loud').then(undefined, () => {
        refused.loud += 1;
        accepted += 1;
        push('quiet').then(undefined, () => {
          accepted -= 1;
          refused.quiet += 1;
        });
      });
    push('quiet').then(undefined, () => (refused.quiet += 1));
    return [refused.loud, refused.quiet, accepted];
  };
  // A fifth of the queue, for which as many others were refused; one asked beyond it.
  const share = [205, 1, 204];
  expect(fill()).toEqual(share);
  answer();
  await queue.drained();
  expect(fill()).toEqual(share);
  await queue.drained();
});
