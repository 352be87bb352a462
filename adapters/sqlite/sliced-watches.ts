/** What is stored of one sort, to read in slices. */
type Stored<Sort, Key, Event> = {
  /** The next events after a key, in the order of the keys. A slice with fewer than `sliceSize` is the last. */
  readonly slice: (sort: Sort, after: Key | undefined) => readonly (readonly [Key, Event])[];
  readonly sliceSize: number;
  readonly isAtOrBefore: (key: Key, reached: Key) => boolean;
};

type Watching<Sort, Key, Event> = {
  isPast(sort: Sort, key: Key): boolean;
  deliver(event: Event): void;
};

/**
 * Watches that deliver what is stored and then every change, in order.
 *
 * The state is read in slices, so that many objects neither block the event loop nor are in memory at the same time. A
 * slice ends at a key: changes at or before it are delivered at once; the slice that reads the rest delivers the
 * changes behind it. So every object arrives once, in its newest state, and no change is lost or delivered twice.
 */
export function createSlicedWatches<Sort, Key, Event>(stored: Stored<Sort, Key, Event>) {
  const watches = new Set<Watching<Sort, Key, Event>>();
  const deliverInOrder = createDelivery();

  /** Delivers the sorts one after the other: what others need comes first. */
  function watch(sorts: readonly Sort[], handler: (event: Event) => void) {
    const reached = new Map<Sort, Key | 'all'>();
    const watching: Watching<Sort, Key, Event> = {
      isPast(sort, key) {
        const end = reached.get(sort);
        return end === 'all' || (end !== undefined && stored.isAtOrBefore(key, end));
      },
      deliver: (event) => {
        if (watches.has(watching)) callSafely(() => handler(event));
      },
    };
    watches.add(watching);

    function readSlice(sort: Sort): void {
      const after = reached.get(sort);
      if (after === 'all') return;
      const slice = stored.slice(sort, after);
      const last = slice.at(-1);
      reached.set(sort, last === undefined || slice.length < stored.sliceSize ? 'all' : last[0]);
      for (const [, event] of slice) watching.deliver(event);
    }

    async function readAll(): Promise<void> {
      // Not before the caller has received its watch: a handler may want to stop it.
      await Promise.resolve();
      for (const sort of sorts)
        while (watches.has(watching) && reached.get(sort) !== 'all') {
          deliverInOrder(() => readSlice(sort));
          if (reached.get(sort) !== 'all') await new Promise((resolve) => setImmediate(resolve));
        }
    }

    const synced = readAll();
    // A caller that awaits it sees the failure. A watch that nobody awaits must not end the process.
    synced.catch(() => {});
    return { synced, stop: () => void watches.delete(watching) };
  }

  return {
    watch,
    /** Called after the commit of each change. */
    publish(sort: Sort, key: Key, event: Event): void {
      // Decided now, not on delivery: a slice that is read in between holds this change already.
      const recipients = [...watches].filter((each) => each.isPast(sort, key));
      deliverInOrder(() => {
        for (const each of recipients) each.deliver(event);
      });
    },
  };
}

/**
 * Runs deliveries one after another. A delivery that is requested during another one (by a handler that writes) waits
 * its turn, so that all watchers see changes in the order in which they were made.
 */
function createDelivery(): (deliver: () => void) => void {
  const queue: (() => void)[] = [];
  let isRunning = false;
  return (deliver) => {
    queue.push(deliver);
    if (isRunning) return;
    isRunning = true;
    try {
      for (let next = queue.shift(); next; next = queue.shift()) next();
    } finally {
      isRunning = false;
    }
  };
}

/**
 * Calls the handler of a watch. A handler that throws is a bug in the program, not in the write that caused the event:
 * it is reported as an uncaught exception, and neither the writer nor the other watchers are affected.
 */
function callSafely(handler: () => void): void {
  try {
    handler();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
