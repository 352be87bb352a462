/** Runs an action for each item, at most `atOnce` at a time; the first failure ends it. */
export async function inParallel<T>(
  items: Iterable<T>,
  atOnce: number,
  run: (item: T) => Promise<unknown>,
): Promise<void> {
  const queue = items[Symbol.iterator]();
  async function work(): Promise<void> {
    for (let next = queue.next(); next.done !== true; next = queue.next()) await run(next.value);
  }
  await Promise.all(Array.from({ length: atOnce }, work));
}
