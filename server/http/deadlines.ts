type Waiting = { readonly dueAt: number; readonly late: () => void };

/**
 * Deadlines of one length, which share a timer: a timer for each request costs more than reading a short body. Late ones are found at most
 * a tenth of `withinMs` after their time.
 */
export function createDeadlines(withinMs: number) {
  /** In the order in which they began, so the first one is due first. */
  const open = new Set<Waiting>();
  let timer: NodeJS.Timeout | undefined;

  function look(): void {
    const now = performance.now();
    for (const one of open) {
      if (one.dueAt > now) return;
      open.delete(one);
      // The sockets are read once more first: a process that was busy may not have seen yet what has arrived.
      setImmediate(one.late);
    }
    clearInterval(timer);
    timer = undefined;
  }

  return {
    /** Calls `late` unless the returned function is called in time. After `late` was scheduled it may still be called. */
    begin(late: () => void): () => void {
      const one = { dueAt: performance.now() + withinMs, late };
      open.add(one);
      timer ??= setInterval(look, withinMs / 10).unref();
      return () => void open.delete(one);
    },
  };
}
