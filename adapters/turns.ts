/** Runs tasks of the same key one after the other; tasks of different keys do not wait for each other. */
export type Turns = { run<T>(key: string, task: () => Promise<T>): Promise<T> };

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
