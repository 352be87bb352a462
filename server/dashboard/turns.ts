/** Runs tasks of the same key one after the other; tasks of different keys do not wait for each other. */
export type Turns = { run<T>(key: string, task: () => Promise<T>): Promise<T> };

/**
 * The dashboard checks names and quotas against a list before it writes. Object names make duplicate creates collide
 * in the store, however many replicas there are. Taking turns inside this process also closes the gap for renames and
 * quotas, so that an installation with one dashboard replica does not rely on a second check by the operator.
 */
export function createTurns(): Turns {
  const tails = new Map<string, Promise<unknown>>();
  return {
    async run(key, task) {
      const mine = (tails.get(key) ?? Promise.resolve()).then(task);
      const tail = mine.catch(() => undefined);
      tails.set(key, tail);
      try {
        return await mine;
      } finally {
        if (tails.get(key) === tail) tails.delete(key);
      }
    },
  };
}
