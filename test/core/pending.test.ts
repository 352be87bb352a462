import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { after, Pending, recover, type Later } from '../../core/pending.js';

describe('a pending answer', () => {
  test('is followed before `resolve` returns, by each follower in the order in which they came', () => {
    const seen: string[] = [];
    const answer = new Pending<number>();
    answer.then((value) => void seen.push(`first ${value}`));
    answer.then((value) => void seen.push(`second ${value}`));
    answer.resolve(1);
    expect(seen).toEqual(['first 1', 'second 1']);
    answer.then((value) => void seen.push(`late ${value}`));
    expect(seen.at(-1)).toBe('late 1');
  });

  test('ends once', async () => {
    const answer = new Pending<number>();
    answer.resolve(1);
    answer.resolve(2);
    answer.reject(new Error('too late'));
    expect(await answer).toBe(1);
  });

  test('waits for what a follower answers, a promise or another pending answer', async () => {
    const [first, second] = [new Pending<number>(), new Pending<number>()];
    const joined = first.then((a) => second.then((b) => Promise.resolve(a + b)));
    first.resolve(1);
    second.resolve(2);
    expect(await joined).toBe(3);
  });

  test('that rejects, or whose follower throws, ends what follows with the error, until somebody handles it', async () => {
    const answer = new Pending<number>();
    const wrong = new Error('wrong');
    const followed = answer.then(() => {
      throw wrong;
    });
    const passedOn = followed.then(() => 'never called');
    const handled = passedOn.then(undefined, (error: unknown) => error);
    answer.resolve(1);
    await expect((async () => passedOn)()).rejects.toBe(wrong);
    expect(await handled).toBe(wrong);
    const ended = new Pending<number>();
    ended.endAs(() => {
      throw wrong;
    });
    await expect((async () => ended)()).rejects.toBe(wrong);
  });
});

/** What a chain of followers does: adds, throws, or handles an error; at once, in a pending answer, or in a promise. */
const someSteps = fc.array(
  fc.record({
    does: fc.constantFrom('adds', 'throws', 'handles'),
    waits: fc.constantFrom('not', 'pending', 'promise'),
  }),
  { maxLength: 8 },
);
type Steps = typeof someSteps extends fc.Arbitrary<infer S> ? S : never;
type Link = Steps[number];

test('a chain over it ends as the same chain over promises', async () => {
  const wait = <T>(waits: Link['waits'], ask: () => T): Later<T> => {
    if (waits === 'not') return ask();
    if (waits === 'promise') return (async () => ask())();
    const answer = new Pending<T>();
    queueMicrotask(() => answer.endAs(ask));
    return answer;
  };
  const linked = (before: PromiseLike<number>, { does, waits }: Link, nth: number): PromiseLike<number> => {
    if (does === 'handles') return before.then(undefined, () => wait(waits, () => nth));
    return before.then((value) =>
      wait(waits, () => {
        if (does === 'throws') throw new Error(`thrown by ${nth}`);
        return value * 10 + nth;
      }),
    );
  };
  const endOf = async (first: PromiseLike<number>, steps: Steps): Promise<unknown> => {
    try {
      return await steps.reduce(linked, first);
    } catch (error) {
      return String(error);
    }
  };
  await fc.assert(
    fc.asyncProperty(someSteps, async (steps) => {
      const pending = new Pending<number>();
      const ended = endOf(pending, steps);
      pending.resolve(0);
      expect(await ended).toEqual(await endOf(Promise.resolve(0), steps));
    }),
  );
});

test('a value is passed on at once, and an error that is thrown is handled like a rejection', async () => {
  expect(after(1, (value) => value + 1)).toBe(2);
  expect(await after(Promise.resolve(1), (value) => value + 1)).toBe(2);
  const wrong = new Error('wrong');
  const thrown = (): number => {
    throw wrong;
  };
  expect(recover(thrown, (error) => error)).toBe(wrong);
  expect(
    await recover(
      () => Promise.reject<number>(wrong),
      (error) => error,
    ),
  ).toBe(wrong);
  expect(recover(() => 1, thrown)).toBe(1);
});
