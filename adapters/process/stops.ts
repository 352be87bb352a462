/** Stop functions of the started parts, run in reverse order. Each runs once, also when one before it fails. */
export type Stops = {
  readonly add: (stop: () => Promise<void> | void) => void;
  /** Resolves when all have run; throws the first error afterwards. May be called twice. */
  readonly run: () => Promise<void>;
};

export function createStops(): Stops {
  const stops: (() => Promise<void> | void)[] = [];
  let running: Promise<void> | undefined;

  async function runAll(): Promise<void> {
    const errors: unknown[] = [];
    for (let stop = stops.pop(); stop !== undefined; stop = stops.pop()) {
      try {
        await stop();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw errors[0];
  }

  return {
    add: (stop) => void stops.push(stop),
    run: () => (running ??= runAll()),
  };
}

/**
 * Starts the parts of a process: `start` adds to each how it is stopped. If it throws, those that it has started are
 * stopped first, and its error is thrown; else the caller stops all of them with `stop`.
 */
export async function startAll<T extends object>(
  start: (onStop: Stops['add'], stop: Stops['run']) => Promise<T>,
): Promise<T & { readonly stop: Stops['run'] }> {
  const { add, run } = createStops();
  try {
    return { ...(await start(add, run)), stop: run };
  } catch (error) {
    // The failure of a stop would hide why the start failed.
    await run().catch(() => {});
    throw error;
  }
}
